// Which part of a long list is in the document.

export interface VirtualWindow {
  readonly first: number;
  /** Exclusive. */
  readonly end: number;
}

/** A few rows more than are visible, so that scrolling does not show gaps. */
export function virtualWindow(
  count: number,
  rowHeight: number,
  scrollTop: number,
  height: number,
  spare = 8,
): VirtualWindow {
  const first = Math.max(0, Math.floor(scrollTop / rowHeight) - spare);
  const end = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + spare);
  return { first: Math.min(first, end), end };
}

/** Where to scroll so that a row is visible; null: it is. */
export function scrollFor(index: number, rowHeight: number, scrollTop: number, height: number): number | null {
  const top = index * rowHeight;
  if (top < scrollTop) return top;
  if (top + rowHeight > scrollTop + height) return top + rowHeight - height;
  return null;
}
