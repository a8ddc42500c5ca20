// What a line of a program consists of: for each language [class, pattern], the first that fits.
// The classes are Pygments' names of tokens.
const COMMON = [
  ["s", /"(?:[^"\\]|\\.)*"/],
  ["c1", /\/\/.*|\/\*.*?\*\//],
  ["nv", /%[\w.#\-]+/],
  ["nf", /@[\w.$\-]+/],
];
const NUMBER = ["mi", /-?\b\d[\w.]*(?:[eE][+-]?\d+)?/];
const GRAMMARS = {
  mlir: [
    ...COMMON,
    ["k", /\b(?:module|func\.func|public|private|return|call|attributes|cond|do|dense|dims|array|init|applies|across|dimensions|true|false|loc)\b/],
    ["nf", /\b(?:stablehlo|chlo|sdy|mhlo|func)\.[\w.]+/],
    ["kt", /\b(?:tensor|tuple|token|vector|complex)\b|(?:\d+x)*\b(?:[sui]+\d+|bf16|f\d+\w*|i\d+|index)\b|[<x](?:b?f|u?i)\d+\w*/],
    ["na", /#[\w.]+|[\w.]+(?= = )/],
    NUMBER,
  ],
  hlo: [
    ...COMMON,
    ["k", /\b(?:HloModule|ENTRY|ROOT|true|false)\b/],
    ["kt", /\b(?:pred|token|opaque|[suf]\d+\w*|bf16|c64|c128)(?=\[|\b)/],
    ["nf", /[a-z][a-z0-9\-]*(?=\()/],
    ["na", /[\w.]+(?==)/],
    NUMBER,
  ],
  olympuspr: [
    ...COMMON,
    ["k", /\b(?:lambda|let|in|None|True|False)\b/],
    ["kt", /\b[a-z]+[a-z0-9]*(?=\[[\d,]*\](?:\s|$|\)|,))/],
    ["nf", /(?<== )[a-z_]\w*/],
    ["na", /\w+(?==)/],
    NUMBER,
  ],
};
const SCANNERS = Object.fromEntries(
  Object.entries(GRAMMARS).map(([name, rules]) => [
    name,
    { classes: rules.map(([cls]) => cls), pattern: new RegExp(rules.map(([, re]) => `(${re.source})`).join("|"), "g") },
  ]),
);

const LONGEST = 4000; // characters of a line that are coloured

function highlighted(line, language) {
  const { classes, pattern } = SCANNERS[language];
  const code = node("code");
  let at = 0;
  const text = line.slice(0, LONGEST);
  for (const found of text.matchAll(pattern)) {
    if (found.index > at) code.append(text.slice(at, found.index));
    code.append(node("span", classes[found.slice(1).findIndex((group) => group !== undefined)], found[0]));
    at = found.index + found[0].length;
  }
  code.append(line.slice(at));
  return code;
}
