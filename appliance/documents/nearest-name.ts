// Suggests the most similar known name for an unknown one.

const MAX_DISTANCE = 2;

/** " (did you mean small?)", or an empty text when no name is similar. */
export function suggestion(text: string, names: Iterable<string>): string {
  let nearest: string | null = null;
  let best = MAX_DISTANCE + 1;
  for (const name of names) {
    if (Math.abs(name.length - text.length) >= best) continue;
    const distance = editDistance(text, name);
    if (distance < best) [best, nearest] = [distance, name];
  }
  // With two edits a word of three or four letters matches many others: not similar.
  return nearest === null || best * 2 >= nearest.length ? '' : ` (did you mean ${nearest}?)`;
}

/** Levenshtein distance; only called for words of similar length. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
