// The stream of a terminal after the upgrade, in both directions: frames of one byte for the kind, two bytes for the length (big endian),
// and the content. A web client can send and receive the same bytes. docs/allocations.md describes it for other clients.

/** The name of the protocol in the header Upgrade. */
export const TERMINAL_PROTOCOL = 'coldiron-terminal';

export interface WindowSize {
  readonly rows: number;
  readonly columns: number;
}

export type TerminalFrame =
  /** Bytes of the terminal: keys to the node, output from it. */
  | { readonly kind: 'data'; readonly bytes: Uint8Array }
  /** To the node: the window of the viewer has another size. */
  | ({ readonly kind: 'resize' } & WindowSize)
  /** To the viewer, as the last one. `status`: of the shell; null: it was ended. */
  | { readonly kind: 'exit'; readonly status: number | null; readonly reason: string };

const [DATA, RESIZE, EXIT] = [0, 1, 2];
const HEADER = 3;
export const MOST_IN_FRAME = 0xffff;
/** A window that the kernel and all programs can handle. */
const LARGEST_SIDE = 1000;

export const isWindowSize = ({ rows, columns }: WindowSize): boolean =>
  [rows, columns].every((side) => Number.isInteger(side) && side >= 1 && side <= LARGEST_SIDE);

/** One frame; data that is too long for one becomes several. */
export function frameBytes(frame: TerminalFrame): Uint8Array {
  switch (frame.kind) {
    case 'data':
      return dataFrames(frame.bytes);
    case 'resize': {
      const content = new Uint8Array(4);
      const view = new DataView(content.buffer);
      view.setUint16(0, frame.rows);
      view.setUint16(2, frame.columns);
      return framed(RESIZE, content);
    }
    case 'exit': {
      const { status, reason } = frame;
      return framed(EXIT, new TextEncoder().encode(JSON.stringify({ status, reason: reason.slice(0, 1000) })));
    }
  }
}

function framed(kind: number | undefined, content: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(HEADER + content.length);
  bytes[0] = kind ?? DATA ?? 0;
  new DataView(bytes.buffer).setUint16(1, content.length);
  bytes.set(content, HEADER);
  return bytes;
}

function dataFrames(bytes: Uint8Array): Uint8Array {
  if (bytes.length <= MOST_IN_FRAME) return framed(DATA, bytes);
  const count = Math.ceil(bytes.length / MOST_IN_FRAME);
  const all = new Uint8Array(bytes.length + count * HEADER);
  for (let at = 0, to = 0; at < bytes.length; at += MOST_IN_FRAME) {
    const frame = framed(DATA, bytes.subarray(at, at + MOST_IN_FRAME));
    all.set(frame, to);
    to += frame.length;
  }
  return all;
}

/** Bytes that are no frame: the stream cannot be read further. */
export class BadFrame extends Error {}

/** Makes frames of bytes, however they were cut. Keeps less than one frame. */
export class FrameReader {
  #rest = new Uint8Array();

  /** Throws BadFrame. */
  push(bytes: Uint8Array): TerminalFrame[] {
    const all = this.#rest.length === 0 ? bytes : joined(this.#rest, bytes);
    const frames: TerminalFrame[] = [];
    let at = 0;
    while (all.length - at >= HEADER) {
      const view = new DataView(all.buffer, all.byteOffset + at, HEADER);
      const [kind, length] = [view.getUint8(0), view.getUint16(1)];
      if (kind > 2) throw new BadFrame(`there is no frame of the kind ${kind}`);
      if (all.length - at - HEADER < length) break;
      frames.push(frameOf(kind, all.subarray(at + HEADER, at + HEADER + length)));
      at += HEADER + length;
    }
    this.#rest = all.slice(at);
    return frames;
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}

function frameOf(kind: number, content: Uint8Array): TerminalFrame {
  if (kind === DATA) return { kind: 'data', bytes: content };
  return kind === RESIZE ? resizeOf(content) : exitOf(content);
}

function resizeOf(content: Uint8Array): TerminalFrame {
  if (content.length !== 4) throw new BadFrame('a resize frame has four bytes: rows and columns');
  const view = new DataView(content.buffer, content.byteOffset, 4);
  const size = { rows: view.getUint16(0), columns: view.getUint16(2) };
  if (!isWindowSize(size)) throw new BadFrame(`a window has 1 to ${LARGEST_SIDE} rows and columns`);
  return { kind: 'resize', ...size };
}

function exitOf(content: Uint8Array): TerminalFrame {
  try {
    const { status, reason } = JSON.parse(new TextDecoder().decode(content)) as { status: unknown; reason: unknown };
    return { kind: 'exit', status: typeof status === 'number' ? status : null, reason: String(reason) };
  } catch {
    throw new BadFrame('an exit frame has JSON with status and reason');
  }
}
