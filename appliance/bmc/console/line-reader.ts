// Turns the bytes of a serial console into lines of text. Firmware and loaders draw screens: they move the cursor, overwrite and erase.
// The reader follows the cursor within one line and ends the line when the cursor leaves it. No control character, no escape sequence
// and no mark that reorders text comes out; binary noise becomes a count.

/** Cells of one line; a longer one is split. */
const MOST_COLUMNS = 1024;
/** Firmware on a serial line breaks longer lines at this column, in the middle of a word. */
const WRAPS_AT = 80;
const LONGEST_JOINED = 2048;
/** Longer than any secret that the appliance issues. */
const LONGEST_WORD = 128;
const LONGEST_SEQUENCE = 64;
/** Rows whose last text is remembered, so that a menu that is drawn again is not a new line. */
const MOST_ROWS = 128;

const [BEL, BACKSPACE, TAB, LINE_FEED, FORM_FEED, CARRIAGE_RETURN, ESCAPE, SPACE, DELETE] = [
  7, 8, 9, 10, 12, 13, 0x1b, 0x20, 0x7f,
];
const REPLACEMENT = 0xfffd;
/** Characters that hide text or show it in another order; see `domain/plain-line.ts`. */
const UNSAFE =
  /[\u0080-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ufff9-\ufffc]|\p{Surrogate}/u;

/** The characters of base64url, in which secrets are written. */
const isWord = (code: number): boolean => /[A-Za-z0-9_-]/.test(String.fromCharCode(code));

export interface LineSink {
  /** A clean line that is not blank. */
  line(text: string): void;
  /** The terminal mode that EDK II sets when a firmware starts (`ESC [ = 3 h`, TerminalDxe). */
  firmwareScreen(): void;
}

type State = 'text' | 'escape' | 'control' | 'charset' | 'string' | 'string-escape';

export class LineReader {
  readonly #cells = new Uint16Array(MOST_COLUMNS);
  #length = 0;
  #column = 0;
  #row = 0;
  #noise = 0;
  #state: State = 'text';
  #sequence = '';
  /** A UTF-8 character: its value so far, and the bytes that are missing. */
  #code = 0;
  #missing = 0;
  #least = 0;
  /** A line that filled the width of the screen: the next one continues it. */
  #held = '';
  readonly #drawn = new Map<number, string>();

  read(bytes: Uint8Array, sink: LineSink): void {
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      if (this.#state !== 'text') this.#onSequence(byte, sink);
      // Nearly all bytes: a printable character at the end of the line.
      else if (
        byte >= SPACE &&
        byte < DELETE &&
        this.#missing === 0 &&
        this.#column === this.#length &&
        this.#length < MOST_COLUMNS
      ) {
        this.#cells[this.#length++] = byte;
        this.#column += 1;
      } else this.#onText(byte, sink);
    }
  }

  /** The line that is not ended yet, such as a prompt. */
  get unfinished(): string {
    return (this.#held + this.#text()).trimEnd();
  }

  /** Ends the line: the console was closed, or another boot begins. */
  end(sink: LineSink): void {
    this.#endLine(sink, 'moved');
    this.#release(sink);
    this.#drawn.clear();
    this.#state = 'text';
    this.#missing = 0;
  }

  #onText(byte: number, sink: LineSink): void {
    if (this.#missing > 0) {
      if ((byte & 0xc0) === 0x80) {
        this.#code = (this.#code << 6) | (byte & 0x3f);
        this.#missing -= 1;
        if (this.#missing === 0) this.#putDecoded(sink);
        return;
      }
      this.#missing = 0;
      this.#putNoise(sink);
    }
    if (byte >= SPACE && byte < DELETE) this.#put(byte, sink);
    else if (byte < SPACE) this.#onControl(byte, sink);
    else if (byte >= 0xc2 && byte <= 0xdf) this.#expect(byte & 0x1f, 1, 0x80);
    else if (byte >= 0xe0 && byte <= 0xef) this.#expect(byte & 0x0f, 2, 0x800);
    else if (byte >= 0xf0 && byte <= 0xf4) this.#expect(byte & 0x07, 3, 0x10000);
    else if (byte !== DELETE) this.#putNoise(sink);
  }

  #onControl(byte: number, sink: LineSink): void {
    switch (byte) {
      case CARRIAGE_RETURN:
        this.#column = 0;
        break;
      case LINE_FEED:
        this.#endLine(sink, 'ended');
        this.#row += 1;
        break;
      case FORM_FEED:
        this.#endLine(sink, 'moved');
        break;
      case BACKSPACE:
        this.#column = Math.max(0, this.#column - 1);
        break;
      case TAB:
        this.#column = Math.min(MOST_COLUMNS - 1, (Math.floor(this.#column / 8) + 1) * 8);
        break;
      case ESCAPE:
        this.#state = 'escape';
        this.#sequence = '';
        break;
      case 0:
      case BEL:
      // XON and XOFF, which serial lines leave behind.
      case 0x11:
      case 0x13:
        break;
      default:
        this.#putNoise(sink);
    }
  }

  #expect(value: number, missing: number, least: number): void {
    this.#code = value;
    this.#missing = missing;
    this.#least = least;
  }

  #putDecoded(sink: LineSink): void {
    const valid = this.#code >= this.#least && this.#code <= 0xffff && !UNSAFE.test(String.fromCharCode(this.#code));
    if (valid) this.#put(this.#code, sink);
    else this.#putNoise(sink);
  }

  #putNoise(sink: LineSink): void {
    this.#noise += 1;
    this.#put(REPLACEMENT, sink);
  }

  #put(code: number, sink: LineSink): void {
    if (this.#column >= MOST_COLUMNS) this.#split(sink);
    while (this.#length < this.#column) this.#cells[this.#length++] = SPACE;
    this.#cells[this.#column] = code;
    this.#column += 1;
    this.#length = Math.max(this.#length, this.#column);
  }

  /** The word at the end goes to the next line: half a secret would not be recognized. */
  #split(sink: LineSink): void {
    let at = this.#length;
    while (at > this.#length - LONGEST_WORD && isWord(this.#cells[at - 1] ?? SPACE)) at -= 1;
    const word = at === this.#length - LONGEST_WORD ? new Uint16Array() : this.#cells.slice(at, this.#length);
    this.#length -= word.length;
    this.#endLine(sink, 'ended');
    this.#cells.set(word);
    this.#length = word.length;
    this.#column = word.length;
  }

  #onSequence(byte: number, sink: LineSink): void {
    switch (this.#state) {
      case 'escape':
        this.#onEscape(byte, sink);
        break;
      case 'charset':
        this.#state = 'text';
        break;
      case 'control':
        if (byte >= 0x40 && byte <= 0x7e) {
          this.#state = 'text';
          this.#onCommand(String.fromCharCode(byte), sink);
        } else if (byte < SPACE || byte > DELETE || this.#sequence.length >= LONGEST_SEQUENCE) {
          // Broken off: what follows is text again.
          this.#state = 'text';
          this.#onText(byte, sink);
        } else this.#sequence += String.fromCharCode(byte);
        break;
      default:
        this.#onString(byte, sink);
    }
  }

  #onEscape(byte: number, sink: LineSink): void {
    const character = String.fromCharCode(byte);
    if (character === '[') this.#state = 'control';
    else if ('()*+#%'.includes(character)) this.#state = 'charset';
    else if (']P_^X'.includes(character)) this.#state = 'string';
    else {
      this.#state = 'text';
      // Reset, next line, index and reverse index.
      if ('cEDM'.includes(character)) this.#endLine(sink, 'moved');
      else if (byte < SPACE) this.#onText(byte, sink);
    }
  }

  /** A title or other text for the terminal: dropped until its end, a line end, or its largest length. */
  #onString(byte: number, sink: LineSink): void {
    if (this.#state === 'string-escape') {
      this.#state = 'text';
      if (byte !== 0x5c) this.#onText(byte, sink);
      return;
    }
    this.#sequence += ' ';
    if (byte === BEL || this.#sequence.length > LONGEST_SEQUENCE * 64) this.#state = 'text';
    else if (byte === ESCAPE) this.#state = 'string-escape';
    else if (byte === LINE_FEED) {
      this.#state = 'text';
      this.#onText(byte, sink);
    }
  }

  #onCommand(command: string, sink: LineSink): void {
    const sequence = this.#sequence;
    if (command === 'h' && sequence.startsWith('=')) {
      this.#endLine(sink, 'moved');
      sink.firmwareScreen();
      return;
    }
    if (!/^[\d;]*$/.test(sequence)) return;
    const [first = '', second = ''] = sequence.split(';');
    const count = Math.min(Number(first) || 1, MOST_COLUMNS);
    switch (command) {
      case 'H':
      case 'f':
        this.#moveTo(count, Math.min(Number(second) || 1, MOST_COLUMNS) - 1, sink);
        break;
      case 'A':
        this.#moveTo(this.#row - count, this.#column, sink);
        break;
      case 'B':
        this.#moveTo(this.#row + count, this.#column, sink);
        break;
      case 'E':
        this.#moveTo(this.#row + count, 0, sink);
        break;
      case 'F':
        this.#moveTo(this.#row - count, 0, sink);
        break;
      case 'd':
        this.#moveTo(count, this.#column, sink);
        break;
      case 'C':
        this.#column = Math.min(this.#column + count, MOST_COLUMNS - 1);
        break;
      case 'D':
        this.#column = Math.max(0, this.#column - count);
        break;
      case 'G':
        this.#column = count - 1;
        break;
      case 'J':
        if (Number(first) >= 2) this.#endLine(sink, 'moved');
        else if (first === '' || first === '0') this.#length = Math.min(this.#length, this.#column);
        break;
      case 'K':
        this.#erase(Number(first));
        break;
      default:
    }
  }

  #erase(which: number): void {
    if (which === 0) this.#length = Math.min(this.#length, this.#column);
    else if (which === 1) this.#cells.fill(SPACE, 0, Math.min(this.#column + 1, this.#length));
    else this.#length = 0;
  }

  #moveTo(row: number, column: number, sink: LineSink): void {
    if (row !== this.#row) {
      this.#endLine(sink, 'moved');
      this.#row = Math.max(0, row);
    }
    this.#column = column;
  }

  #text(): string {
    const narrow = Buffer.allocUnsafe(this.#length);
    for (let at = 0; at < this.#length; at++) {
      const code = this.#cells[at] ?? SPACE;
      if (code >= DELETE) return String.fromCharCode(...this.#cells.subarray(0, this.#length));
      narrow[at] = code;
    }
    return narrow.toString('latin1');
  }

  #endLine(sink: LineSink, how: 'ended' | 'moved'): void {
    const [wide, noise] = [this.#length === WRAPS_AT, this.#noise];
    const text = noise > 8 && noise * 3 > this.#length ? `[${noise} bytes that are no text]` : this.#text();
    const row = this.#row;
    this.#length = 0;
    this.#column = 0;
    this.#noise = 0;
    if (text.trim() === '') {
      this.#release(sink);
      return;
    }
    // The kernel's lines begin with a time, and are never continued.
    const joined = text.startsWith('[') ? text : this.#held + text;
    if (joined === text) this.#release(sink);
    this.#held = '';
    if (how === 'ended') {
      if (wide && joined.length < LONGEST_JOINED) this.#held = joined;
      else sink.line(joined.trimEnd());
      return;
    }
    const drawn = joined.trimEnd();
    if (this.#drawn.get(row) === drawn) return;
    if (this.#drawn.size >= MOST_ROWS) this.#drawn.clear();
    this.#drawn.set(row, drawn);
    sink.line(drawn);
  }

  #release(sink: LineSink): void {
    if (this.#held !== '') sink.line(this.#held.trimEnd());
    this.#held = '';
  }
}
