import js from "@eslint/js";
import globals from "globals";

const unused = ["error", { ignoreRestSiblings: true }];

export default [
  { ignores: ["**/node_modules/"] },
  {
    ...js.configs.recommended,
    rules: {
      ...js.configs.recommended.rules,
      "no-unused-vars": unused,
      "no-var": "error",
      eqeqeq: "error",
      "prefer-const": "error",
    },
  },
  { files: ["deeds/**"], languageOptions: { globals: globals.browser } },
  { files: ["tests/**"], languageOptions: { globals: globals.node } },
  { files: ["**/in_browser.js"], languageOptions: { globals: globals.browser } },
];
