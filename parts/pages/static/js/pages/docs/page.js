// Shows the interface, /openapi.json, with Swagger UI, which is loaded before.

const dark = window.matchMedia("(prefers-color-scheme: dark)");

function followColorScheme() {
  document.documentElement.classList.toggle("dark-mode", dark.matches);
}

dark.addEventListener("change", followColorScheme);
followColorScheme();

/**
 * A plugin with a layout for a page that has a heading and a main part of its own; the
 * usual one brings both, and a choice of servers.
 */
const inOurPage = ({ React: { createElement } }) => ({
  wrapComponents: {
    // It would open a form for tokens, which is a part of the usual layout.
    authorizeOperationBtn: () => () => null,
    // A choice without a name: its text is beside it.
    ExamplesSelect: (Original) => (given) =>
      createElement(
        "label",
        {},
        createElement(Original, { ...given, showLabels: true }),
      ),
  },
  components: {
    // The usual one is a link, which stands in a button: two controls in one.
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
  // Its colours are too pale.
  syntaxHighlight: false,
  defaultModelsExpandDepth: 0,
  // The badge would ask a server of somebody else.
  validatorUrl: null,
});
