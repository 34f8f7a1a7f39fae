// Shows the interface, /openapi.json, with Swagger UI, which is loaded before.

const dark = window.matchMedia("(prefers-color-scheme: dark)");

function followColorScheme() {
  document.documentElement.classList.toggle("dark-mode", dark.matches);
}

dark.addEventListener("change", followColorScheme);
followColorScheme();

/** @type {any} */ (window).SwaggerUIBundle({
  dom_id: "#interface",
  url: "/openapi.json",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  // The badge would ask a server of somebody else.
  validatorUrl: null,
});
