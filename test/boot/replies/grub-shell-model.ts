// GRUB's script language as far as the configurations use it (grub-core/script/yylex.l): words, quotes, separators,
// comments. A `$` outside single quotes starts an expansion, which the model shows as `<name>`.

export function grubCommands(text: string): string[][] {
  const commands: string[][] = [];
  let words: string[] = [];
  let word: string | null = null;
  const endWord = (): void => {
    if (word !== null) words.push(word);
    word = null;
  };
  const endCommand = (): void => {
    endWord();
    if (words.length > 0) commands.push(words);
    words = [];
  };
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (character === "'") {
      const close = text.indexOf("'", at + 1);
      if (close === -1) throw new Error('a quote is never closed');
      word = (word ?? '') + text.slice(at + 1, close);
      at = close;
    } else if (character === '#' && word === null) {
      const end = text.indexOf('\n', at);
      at = end === -1 ? text.length : end - 1;
    } else if (character === '$') {
      const name = /^\$(?:\{([^}]*)\}|(\w+|[?*#@]))/.exec(text.slice(at));
      word = `${word ?? ''}<${name?.[1] ?? name?.[2] ?? ''}>`;
      at += (name?.[0].length ?? 1) - 1;
    } else if (/[\n;|&{}<>]/.test(character)) {
      endCommand();
    } else if (/[ \t\r]/.test(character)) {
      endWord();
    } else {
      word = (word ?? '') + character;
    }
  }
  endCommand();
  return commands;
}
