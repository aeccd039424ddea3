// The word that was probably meant, for messages about one that nobody knows.

const FARTHEST = 2;

/** " (did you mean small?)", or nothing when no name is near. */
export function suggestion(text: string, names: Iterable<string>): string {
  let nearest: string | null = null;
  let best = FARTHEST + 1;
  for (const name of names) {
    if (Math.abs(name.length - text.length) >= best) continue;
    const distance = editDistance(text, name);
    if (distance < best) [best, nearest] = [distance, name];
  }
  // Two edits make any word of three or four letters out of many others: no likeness.
  return nearest === null || best * 2 >= nearest.length ? '' : ` (did you mean ${nearest}?)`;
}

/** Levenshtein's distance; only ever asked about words of nearly the same length. */
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
