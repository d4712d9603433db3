// Loaded by Stryker: tests do not prove what the log says.
const isCall = (node) =>
  node.type === "CallExpression" &&
  node.callee.type === "MemberExpression" &&
  /^(debug|info|warn|error)$/.test(node.callee.property.name ?? "") &&
  (node.callee.object.name ?? node.callee.object.property?.name) === "log";
const isLog = ({ node }) => isCall(node.type === "ExpressionStatement" ? node.expression : node);

/** What takes the description of a setting; the reference, which a test compares word for word, is made of them. */
const DESCRIBES = /^(?:describe|zone|unread|token|base)$/;
const isDescription = ({ node, parent, listKey }) =>
  (node.type === "StringLiteral" || node.type === "TemplateLiteral") &&
  parent?.type === "CallExpression" &&
  listKey === "arguments" &&
  DESCRIBES.test(parent.callee.name ?? parent.callee.property?.name ?? "");

export const strykerPlugins = [
  {
    kind: "Ignore",
    name: "logging",
    value: { shouldIgnore: (path) => (isLog(path) ? "It is a line of the log." : undefined) },
  },
  {
    kind: "Ignore",
    name: "descriptions",
    value: { shouldIgnore: (path) => (isDescription(path) ? "It is a line of the reference." : undefined) },
  },
];
