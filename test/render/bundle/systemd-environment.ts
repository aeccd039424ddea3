// How systemd reads an EnvironmentFile=, written anew from systemd.exec(5) and os-release(5): the parts that a file of double
// quoted values can come to.

type State = 'key' | 'before-value' | 'value' | 'quoted' | 'quoted-escape' | 'comment';

/** Throws where systemd would leave out a line, or read something that a shell reads in another way. */
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
          if (!/^[A-Za-z_]\w*$/.test(key)) throw new Error(`no name of a variable: ${key}`);
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
        // Only these four are escapes; before anything else the backslash stays.
        value += '"\\`$'.includes(character) ? character : `\\${character}`;
        state = 'quoted';
        break;
      default:
        throw new Error(state);
    }
  }
  if (state !== 'key' || key !== '') throw new Error('the last line does not end');
  return read;
}
