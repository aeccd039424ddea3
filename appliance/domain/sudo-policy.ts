// A sudo policy: the commands that the user of an allocation may run as root, as an explicit list. Each is one program with exactly these
// arguments; nothing else is allowed (sudoers(5), "User Specification").

import { type Parsed, parsed, shown, unparsable } from './parsed.ts';

export const MAX_SUDO_COMMANDS = 50;
const MAX_COMMAND_LENGTH = 500;

/** With root rights these run, read or change anything: a list that contains one is no list. */
const UNLIMITED = new Set(
  `ash awk bash busybox cat chmod chown chroot cp crontab csh curl dash dd docker dpkg apt apt-get ed emacs env expect find gawk gdb git
  install ip kubectl less ln lua man mawk more mount mv nano nice node nohup nsenter openssl perl podman php python ruby rsync runuser sed
  setpriv sh socat ssh su sudo sudoedit systemd-run tar tee timeout unshare useradd usermod passwd vi vim visudo wget xargs zsh`.split(
    /\s+/,
  ),
);

/** The command in its plain form: the program and its arguments, separated by one space. */
export function parseSudoCommand(text: string): Parsed<string> {
  if (text.length > MAX_COMMAND_LENGTH) return unparsable(`a command has at most ${MAX_COMMAND_LENGTH} characters`);
  const [program = '', ...args] = text.trim().split(/ +/);
  if (!/^(?:\/[A-Za-z0-9_+][A-Za-z0-9._+-]*)+$/.test(program)) {
    return unparsable(`not the absolute path of one program: ${shown(text)}`);
  }
  const name = program.slice(program.lastIndexOf('/') + 1);
  if (UNLIMITED.has(name) || /^(?:python|perl|ruby|lua|php)[0-9.]*$/.test(name)) {
    return unparsable(`${name} with root rights can do everything: name a program that does one thing`);
  }
  // No wildcards: sudoers would match more than the list says.
  const odd = args.find((arg) => !/^[A-Za-z0-9._/+@%:=,-]+$/.test(arg));
  if (odd !== undefined) return unparsable(`an argument has letters, digits and ._/+@%:=,- only: ${shown(odd)}`);
  return parsed([program, ...args].join(' '));
}

/** The content of the file for one user. An argument list that is empty in the policy is `""` here: without it sudo allows any. */
export function sudoersText(user: string, commands: readonly string[]): string {
  const note = '# Coldiron: the commands of an allocation. Changes are noticed, and the node is quarantined.';
  const text = `${note}\n${user} ${sudoersRule(commands)}\n`;
  // A multiple of three bytes has no padding in base64.
  return text.padEnd(Math.ceil(text.length / 3) * 3, '\n');
}

/** The rule without its user. */
export function sudoersRule(commands: 'all' | readonly string[]): string {
  if (commands === 'all') return 'ALL=(ALL) NOPASSWD:ALL';
  const list = commands.map((command) => {
    const [program = '', ...args] = command.split(' ');
    return [program, ...(args.length === 0 ? ['""'] : args.map(escaped))].join(' ');
  });
  return `ALL=(root) NOPASSWD: ${list.join(', ')}`;
}

/** These separate parts of a rule. */
const escaped = (arg: string): string => arg.replace(/[,:=]/g, '\\$&');

/** sudo reads every file in this folder whose name has no dot. */
export const sudoersPath = (user: string): string => `/etc/sudoers.d/coldiron-${user}`;
