/**
 * The left-corner machine that turns hexatags into a tree: what hexatagger.tags.bht.steps does, here to be looked at.
 *
 * l pushes a leaf. Ll and Lr put a node over the top of the stack, its head left or right, its right child still open.
 * Rl and Rr take the top off and put such a node into the open slot below. r fills the open slot with a leaf.
 */

const SAYS = {
  l: "push the word",
  r: "put the word into the open slot",
  Ll: "new node over the top; its head is on the left",
  Lr: "new node over the top; its head is on the right",
  Rl: "new node into the open slot below; its head is on the left",
  Rr: "new node into the open slot below; its head is on the right",
};

/** Return the tag without its relation. */
export const bare = (tag) => tag.split("/", 1)[0];

/**
 * Run the machine. Returns the nodes in order (place 2i: word i + 1, place 2i + 1: the node between it and the next), each
 * with its side, children and height, and the steps: tag, what it does, the stack (roots of its trees), new arcs.
 */
export function run(tags) {
  const nodes = tags.map((tag, place) => ({ place, tag: bare(tag), side: "", left: null, right: null, height: 0 }));
  const stack = []; // {node, slot: node with the open slot or null, head, owes, waiting}
  const steps = [];
  for (const node of nodes) {
    const word = node.place / 2 + 1;
    const arcs = [];
    const fillSlot = (item, filler) => {
      for (const waiting of item.waiting) arcs.push([filler, waiting]);
      item.waiting = [];
      if (item.owes === null) item.head = filler;
      else arcs.push([item.owes, filler]);
    };
    if (node.tag === "l") {
      stack.push({ node, slot: null, head: word, owes: null, waiting: [] });
    } else if (node.tag === "r") {
      const item = stack.at(-1);
      item.slot.right = node;
      item.slot = null;
      fillSlot(item, word);
    } else {
      node.side = node.tag[1] === "l" ? "L" : "R";
      const top = node.tag[0] === "L" ? stack.at(-1) : stack.pop();
      node.left = top.node;
      const item = stack.at(-1);
      if (item === top) {
        top.node = node;
        top.waiting = [];
        top.owes = null;
        if (node.side === "L") top.owes = top.head;
        else top.waiting = [top.head];
      } else {
        item.slot.right = node;
        if (node.side === "L") {
          fillSlot(item, top.head);
          item.owes = top.head;
        } else item.waiting.push(top.head);
      }
      item.slot = node;
    }
    if (node.place === nodes.length - 1) arcs.push([0, stack[0].head]);
    const made = stack.map((item) => brackets(item.node));
    steps.push({ place: node.place, tag: tags[node.place], says: SAYS[node.tag], stack: made, arcs });
  }
  for (const node of byHeight(stack[0]?.node)) {
    node.height = 1 + Math.max(-1, ...[node.left, node.right].filter(Boolean).map((child) => child.height));
  }
  return { nodes, steps };
}

/** Return the nodes of a tree, children first. */
function byHeight(top) {
  const found = [];
  const waiting = top ? [top] : [];
  while (waiting.length) {
    const node = waiting.pop();
    found.push(node);
    waiting.push(...[node.left, node.right].filter(Boolean));
  }
  return found.reverse();
}

/** Write a tree as a list of strings and numbers of words; an open slot is null. */
function brackets(top) {
  const parts = [];
  const waiting = [top];
  while (waiting.length) {
    const item = waiting.pop();
    if (item === null || typeof item === "string") parts.push(item);
    else if (item.side) waiting.push(")", item.right, " ", item.left, `${item.side}(`);
    else parts.push(item.place / 2 + 1);
  }
  return parts;
}
