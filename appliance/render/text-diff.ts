// Compares two texts by lines; returns a unified diff that `patch` accepts. Shortest edit script: E. Myers, "An O(ND) Difference
// Algorithm and Its Variations" (1986).

type Edit = { readonly kind: ' ' | '-' | '+'; readonly line: string };

export interface TextDiff {
  readonly added: number;
  readonly removed: number;
  /** Including the two headers; empty if the texts are equal. */
  readonly text: string;
}

const CONTEXT = 3;
/** With more differing lines the shortest script is not searched: everything in between is replaced. */
const MOST_EDITS = 1000;

/** `from` and `to` are the names in the headers; null: there is no such file. */
export function textDiff(before: string, after: string, from: string | null, to: string | null): TextDiff {
  const edits = editScript(linesOf(before), linesOf(after));
  const count = (kind: Edit['kind']): number => edits.filter((edit) => edit.kind === kind).length;
  const [added, removed] = [count('+'), count('-')];
  const text = added + removed === 0 ? '' : unified(edits, from ?? '/dev/null', to ?? '/dev/null');
  return { added, removed, text };
}

/** Each with its line end; the last one may have none. */
const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+/g) ?? [];

function editScript(before: readonly string[], after: readonly string[]): Edit[] {
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < most - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  const kept = (line: string): Edit => ({ kind: ' ', line });
  return [
    ...before.slice(0, head).map(kept),
    ...middle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...before.slice(before.length - tail).map(kept),
  ];
}

function middle(before: readonly string[], after: readonly string[]): Edit[] {
  const trace = before.length === 0 || after.length === 0 ? null : search(before, after);
  if (trace !== null) return walkBack(before, after, trace);
  return [...before.map((line): Edit => ({ kind: '-', line })), ...after.map((line): Edit => ({ kind: '+', line }))];
}

/** The furthest point of each diagonal after every number of edits; null: too many edits. */
function search(before: readonly string[], after: readonly string[]): Int32Array[] | null {
  const most = Math.min(before.length + after.length, MOST_EDITS);
  const middleAt = most + 1;
  const reach = new Int32Array(2 * most + 3);
  const trace: Int32Array[] = [];
  for (let edits = 0; edits <= most; edits++) {
    trace.push(reach.slice(middleAt - edits - 1, middleAt + edits + 2));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const at = middleAt + diagonal;
      let x = takesFromAbove(diagonal, edits, (k) => reach[middleAt + k] ?? 0)
        ? (reach[at + 1] ?? 0)
        : (reach[at - 1] ?? 0) + 1;
      while (x < before.length && x - diagonal < after.length && before[x] === after[x - diagonal]) x++;
      reach[at] = x;
      if (x >= before.length && x - diagonal >= after.length) return trace;
    }
  }
  return null;
}

const takesFromAbove = (diagonal: number, edits: number, reached: (diagonal: number) => number): boolean =>
  diagonal === -edits || (diagonal !== edits && reached(diagonal - 1) < reached(diagonal + 1));

function walkBack(before: readonly string[], after: readonly string[], trace: readonly Int32Array[]): Edit[] {
  const edits: Edit[] = [];
  let [x, y] = [before.length, after.length];
  const step = (kind: Edit['kind']): void => {
    edits.push({ kind, line: (kind === '+' ? after[y - 1] : before[x - 1]) ?? '' });
    if (kind !== '+') x--;
    if (kind !== '-') y--;
  };
  for (let count = trace.length - 1; count > 0; count--) {
    const reach = trace[count] ?? new Int32Array();
    const reached = (diagonal: number): number => reach[diagonal + count + 1] ?? 0;
    const diagonal = x - y;
    const isInsertion = takesFromAbove(diagonal, count, reached);
    const startX = reached(isInsertion ? diagonal + 1 : diagonal - 1);
    const startY = startX - (isInsertion ? diagonal + 1 : diagonal - 1);
    while (x > startX && y > startY) step(' ');
    step(isInsertion ? '+' : '-');
  }
  while (x > 0 && y > 0) step(' ');
  return edits.reverse();
}

function unified(edits: readonly Edit[], from: string, to: string): string {
  const hunks: string[] = [];
  let [oldLine, newLine, at] = [1, 1, 0];
  while (at < edits.length) {
    const first = edits.findIndex(({ kind }, index) => index >= at && kind !== ' ');
    if (first === -1) break;
    const start = Math.max(at, first - CONTEXT);
    const end = endOfHunk(edits, first);
    oldLine += start - at;
    newLine += start - at;
    const lines = edits.slice(start, end);
    const oldCount = lines.filter(({ kind }) => kind !== '+').length;
    const newCount = lines.filter(({ kind }) => kind !== '-').length;
    hunks.push(`@@ -${range(oldLine, oldCount)} +${range(newLine, newCount)} @@\n${lines.map(lineText).join('')}`);
    oldLine += oldCount;
    newLine += newCount;
    at = end;
  }
  return `--- ${from}\n+++ ${to}\n${hunks.join('')}`;
}

/** Changes that are closer than twice the context share a hunk. */
function endOfHunk(edits: readonly Edit[], first: number): number {
  let last = first;
  for (let at = first; at < edits.length && at - last <= 2 * CONTEXT; at++) if (edits[at]?.kind !== ' ') last = at;
  return Math.min(edits.length, last + CONTEXT + 1);
}

/** An empty range has the number of the line before it. */
const range = (line: number, count: number): string => {
  if (count === 0) return `${line - 1},0`;
  return count === 1 ? `${line}` : `${line},${count}`;
};

const lineText = ({ kind, line }: Edit): string =>
  line.endsWith('\n') ? `${kind}${line}` : `${kind}${line}\n\\ No newline at end of file\n`;
