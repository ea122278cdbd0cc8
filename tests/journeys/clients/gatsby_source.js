// Runs the source plugin as Gatsby does, and prints the nodes that it creates.
const { createHash } = require("node:crypto");
const { sourceNodes } = require("gatsby-source-spree/gatsby-node");

const digest = (value) => createHash("md5").update(JSON.stringify(value)).digest("hex");
const nodes = [];
const gatsby = {
  actions: { createNode: (node) => nodes.push(node) },
  createNodeId: (id) => digest(`gatsby-source-spree ${id}`),
  createContentDigest: digest,
  reporter: { info: console.error, warn: console.error, panic: (problem) => { throw problem; } },
};

sourceNodes(gatsby, { plugins: [], host: process.argv[2] })
  .then(() => console.log(JSON.stringify(nodes)))
  .catch((problem) => { console.error(problem); process.exit(1); });
