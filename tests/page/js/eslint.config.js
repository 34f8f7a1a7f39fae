import js from "@eslint/js";
import globals from "globals";

const unused = ["error", { ignoreRestSiblings: true }];

// What parts/pages/static_files.py cannot join. Of imports and exports in other ways it
// says so itself.
const unjoinable = ["ImportExpression > Literal", "MetaProperty"];
const ofAnotherPage = {
  regex: "^\\.\\./\\w+/",
  message: "What two pages use is in pages/ itself.",
};
const AWAIT = "AwaitExpression:not(:function *)";

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
  {
    files: ["parts/**"],
    languageOptions: { globals: globals.browser },
    rules: {
      "no-restricted-syntax": ["error", ...unjoinable, AWAIT],
    },
  },
  {
    files: ["**/page.js"],
    rules: { "no-restricted-syntax": ["error", ...unjoinable] },
  },
  {
    files: ["parts/**"],
    rules: { "max-lines-per-function": ["error", 100] },
  },
  {
    files: ["parts/pages/static/js/pages/*/**"],
    rules: { "no-restricted-imports": ["error", { patterns: [ofAnotherPage] }] },
  },
  { files: ["tests/**"], languageOptions: { globals: globals.node } },
  {
    files: ["**/in_browser.js", "**/marks.js"],
    languageOptions: { globals: globals.browser },
  },
];
