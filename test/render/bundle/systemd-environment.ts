// How systemd reads an EnvironmentFile=, reimplemented from systemd.exec(5) and os-release(5): only what applies to a file of
// double-quoted values.

type State = 'key' | 'before-value' | 'value' | 'quoted' | 'quoted-escape' | 'comment';

/** Throws where systemd would ignore a line, or read it differently than a shell. */
export function readAsSystemd(text: string): Map<string, string> {
  const read = new Map<string, string>();
  let state: State = 'key';
  let [key, value] = ['', ''];
  for (const character of text) {
    switch (state) {
      case 'key':
        if (key === '' && '#;'.includes(character)) state = 'comment';
        else if (character === '=') state = 'before-value';
        else key += character;
        break;
      case 'comment':
        if (character === '\n') state = 'key';
        break;
      case 'before-value':
        if (character === '"') state = 'quoted';
        else if (character === '\n') {
          if (!/^[A-Za-z_]\w*$/.test(key)) throw new Error(`not a variable name: ${key}`);
          read.set(key, value);
          [key, value, state] = ['', '', 'key'];
        } else throw new Error('a value that is not in double quotes');
        break;
      case 'quoted':
        if (character === '"') state = 'before-value';
        else if (character === '\\') state = 'quoted-escape';
        else value += character;
        break;
      case 'quoted-escape':
        // Only these four are escapes; before any other character the backslash is kept.
        value += '"\\`$'.includes(character) ? character : `\\${character}`;
        state = 'quoted';
        break;
      default:
        throw new Error(state);
    }
  }
  if (state !== 'key' || key !== '') throw new Error('the last line has no line end');
  return read;
}
