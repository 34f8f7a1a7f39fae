// Shows the API, /openapi.json, with Swagger UI, which is loaded before.

const dark = window.matchMedia("(prefers-color-scheme: dark)");

function followColorScheme() {
  document.documentElement.classList.toggle("dark-mode", dark.matches);
}

dark.addEventListener("change", followColorScheme);
followColorScheme();

/**
 * A plugin with a layout without heading and main element, which the page already has.
 * The standard layout has both, and a choice of servers.
 */
const inOurPage = ({ React: { createElement } }) => ({
  wrapComponents: {
    // It opens a form for tokens, which is part of the standard layout.
    authorizeOperationBtn: () => () => null,
    // The standard one is a choice without a label.
    ExamplesSelect: (Original) => (given) =>
      createElement(
        "label",
        {},
        createElement(Original, { ...given, showLabels: true }),
      ),
  },
  components: {
    // The standard one is a link inside a button: two controls in one.
    DeepLink: ({ text }) => createElement("span", {}, text),

    OurLayout({ getComponent, specSelectors }) {
      const component = (name, more) => createElement(getComponent(name, true), more);
      const info = specSelectors.info();
      const shown = specSelectors.specStr() && [
        createElement("h2", {}, info.get("title"), " ", info.get("version")),
        component("Markdown", { source: info.get("description") }),
        component("operations"),
        component("Models"),
      ];
      return createElement(
        "div",
        { className: "swagger-ui" },
        component("errors"),
        ...(shown || []),
      );
    },
  },
});

/** @type {any} */ (window).SwaggerUIBundle({
  dom_id: "#interface",
  url: "/openapi.json",
  layout: "OurLayout",
  plugins: [inOurPage],
  deepLinking: true,
  // The colours of its highlighting have too little contrast.
  syntaxHighlight: false,
  defaultModelsExpandDepth: 0,
  // The badge would send a request to somebody else's server.
  validatorUrl: null,
});
