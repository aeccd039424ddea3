// iPXE's command line as its source has it (src/image/script.c, src/core/exec.c): lines, labels, words, operators, comments,
// and the expansion of settings in every word.

export interface ModelCommand {
  readonly words: readonly string[];
}

/** The commands of a script in order, labels left out; every `${…}` becomes `<name>`, as if some setting had filled it. */
export function ipxeCommands(script: string): ModelCommand[] {
  return logicalLines(script).flatMap((line) => commandsOf(withoutLabel(line)));
}

export function ipxeLabels(script: string): string[] {
  return logicalLines(script).flatMap((line) => /^\s*:(\S*)/.exec(line)?.[1] ?? []);
}

function logicalLines(script: string): string[] {
  const lines: string[] = [];
  let open = '';
  for (const raw of script.split('\n')) {
    const line = open + raw.replace(/\r$/, '');
    if (line.endsWith('\\')) {
      open = line.slice(0, -1);
      continue;
    }
    lines.push(line);
    open = '';
  }
  return open === '' ? lines : [...lines, open];
}

const withoutLabel = (line: string): string => line.replace(/^\s*:\S*\s?/, '');

function commandsOf(line: string): ModelCommand[] {
  const commands: ModelCommand[] = [];
  let words: string[] = [];
  const finish = (): void => {
    if (words.length > 0) commands.push({ words });
    words = [];
  };
  for (const word of line.split(/[ \t\n\v\f\r]+/).filter((text) => text !== '')) {
    if (word.startsWith('#')) break;
    if (word === '||' || word === '&&' || word === ';') finish();
    else words.push(word.replace(/\$\{([^}]*)\}/g, '<$1>'));
  }
  finish();
  return commands;
}
