// Loaded by Stryker: tests do not prove what the log says.
const isCall = (node) =>
  node.type === "CallExpression" &&
  node.callee.type === "MemberExpression" &&
  /^(debug|info|warn|error)$/.test(node.callee.property.name ?? "") &&
  (node.callee.object.name ?? node.callee.object.property?.name) === "log";
const isLog = ({ node }) => isCall(node.type === "ExpressionStatement" ? node.expression : node);

export const strykerPlugins = [
  {
    kind: "Ignore",
    name: "logging",
    value: { shouldIgnore: (path) => (isLog(path) ? "It is a line of the log." : undefined) },
  },
];
