// A QR code as the path of an SVG: one square per dark module. Pure; the picture is scaled by its viewBox.

import qrcode from 'qrcode-generator';

export interface QrPicture {
  /** Modules on a side, with the quiet zone of four that readers need. */
  readonly size: number;
  readonly path: string;
}

const QUIET = 4;

export function qrPicture(text: string): QrPicture {
  // The smallest version that fits; M corrects 15 % of damage.
  const code = qrcode(0, 'M');
  code.addData(text, 'Byte');
  code.make();
  const count = code.getModuleCount();
  const runs: string[] = [];
  for (let row = 0; row < count; row += 1) {
    for (let column = 0; column < count; column += 1) {
      if (!code.isDark(row, column)) continue;
      const start = column;
      while (column + 1 < count && code.isDark(row, column + 1)) column += 1;
      const width = column - start + 1;
      runs.push(`M${start + QUIET} ${row + QUIET}h${width}v1h-${width}z`);
    }
  }
  return { size: count + 2 * QUIET, path: runs.join('') };
}
