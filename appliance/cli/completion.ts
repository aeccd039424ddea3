// Shell completion, generated from the command tree that parses the arguments, so that it is always up to date.

import type { Command, Option } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

interface Verb {
  /** `nodes list`, or `` for the program itself. */
  readonly path: string;
  readonly words: readonly string[];
  readonly command: Command;
}

function verbs(command: Command, path: string[] = []): Verb[] {
  const own: Verb = {
    path: path.join(' '),
    words: [...command.commands.map((sub) => sub.name()), ...command.options.map(longName), '--help'],
    command,
  };
  return [own, ...command.commands.flatMap((sub) => verbs(sub, [...path, sub.name()]))];
}

const longName = (option: Option): string => option.long ?? option.short ?? '';

export function completionScript(program: Command, shell: Shell): string {
  switch (shell) {
    case 'bash':
      return bashScript(program);
    case 'zsh':
      return `#compdef coldiron\nautoload -U +X bashcompinit && bashcompinit\n${bashScript(program)}`;
    case 'fish':
      return fishScript(program);
  }
}

function bashScript(program: Command): string {
  const cases = verbs(program).map((verb) => `    '${verb.path}') words='${verb.words.join(' ')}' ;;`);
  const groups = program.commands.filter((command) => command.commands.length > 0).map((command) => command.name());
  return `# bash completion for coldiron
_coldiron() {
  local current=\${COMP_WORDS[COMP_CWORD]} verb='' words='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in
      -*) ;;
      *) if [ -z "$verb" ]; then verb=$word
         else case " ${groups.join(' ')} " in *" $verb "*) verb="$verb $word" ;; esac; break
         fi ;;
    esac
  done
  case $verb in
${cases.join('\n')}
  esac
  if [[ $current == -* ]] || [ -z "$verb" ] || [[ " ${groups.join(' ')} " == *" $verb "* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -o filenames -F _coldiron coldiron ./coldiron
`;
}

function fishScript(program: Command): string {
  const quote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const lines = verbs(program).flatMap(({ path, command }) => {
    const when =
      path === ''
        ? '__fish_use_subcommand'
        : path
            .split(' ')
            .map((word) => `__fish_seen_subcommand_from ${word}`)
            .join('; and ');
    const subcommands = command.commands.map(
      (sub) =>
        `complete -c coldiron -f -n ${quote(when)} -a ${sub.name()} -d ${quote(sub.summary() || sub.description())}`,
    );
    const options = command.options
      .filter((option) => option.long)
      .map(
        (option) =>
          `complete -c coldiron -n ${quote(when)} -l ${longName(option).replace(/^--/, '')} -d ${quote(option.description)}`,
      );
    return [...subcommands, ...options];
  });
  return `# fish completion for coldiron\n${lines.join('\n')}\n`;
}
