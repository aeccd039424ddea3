// A kickstart file as Anaconda reads it: lines split into words as by a POSIX shell, and the commands and options in the
// documentation of RHEL 9 (those that we use, with their arguments).

/** The words of each command line before the first section. */
export function kickstartWords(text: string): string[][] {
  const commands = text.split(/^%/m, 1)[0] ?? '';
  return commands
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map(shellWords);
}

/** Python's shlex.split for what we write: plain words and single quotes. */
function shellWords(line: string): string[] {
  const words: string[] = [];
  let word: string | null = null;
  for (let at = 0; at < line.length; at++) {
    const character = line[at] ?? '';
    if (character === ' ') {
      if (word !== null) words.push(word);
      word = null;
    } else if (character === "'") {
      const end = line.indexOf("'", at + 1);
      if (end < 0) throw new Error(`an unclosed quote: ${line}`);
      word = (word ?? '') + line.slice(at + 1, end);
      at = end;
    } else if (character === '\\') {
      at++;
      word = (word ?? '') + (line[at] ?? '');
    } else word = (word ?? '') + character;
  }
  return word === null ? words : [...words, word];
}

/** By command: its options, with `=` if they have a value; `arguments` is the allowed number of other words. */
const COMMANDS: Readonly<
  Record<string, { readonly options: readonly string[]; readonly arguments: readonly [number, number] }>
> = {
  text: { options: [], arguments: [0, 0] },
  url: { options: ['--url='], arguments: [0, 0] },
  lang: { options: [], arguments: [1, 1] },
  keyboard: { options: [], arguments: [1, 1] },
  timezone: { options: ['--utc'], arguments: [1, 1] },
  timesource: { options: ['--ntp-server='], arguments: [0, 0] },
  network: { options: ['--bootproto=', '--device=', '--activate', '--hostname='], arguments: [0, 0] },
  rootpw: { options: ['--lock'], arguments: [0, 0] },
  user: { options: ['--name=', '--shell=', '--lock'], arguments: [0, 0] },
  sshkey: { options: ['--username='], arguments: [1, 1] },
  firewall: { options: ['--enabled', '--service='], arguments: [0, 0] },
  selinux: { options: ['--enforcing'], arguments: [0, 0] },
  services: { options: ['--enabled='], arguments: [0, 0] },
  firstboot: { options: ['--disable'], arguments: [0, 0] },
  reboot: { options: [], arguments: [0, 0] },
  ignoredisk: { options: ['--only-use='], arguments: [0, 0] },
  zerombr: { options: [], arguments: [0, 0] },
  clearpart: { options: ['--all', '--initlabel', '--disklabel=', '--drives='], arguments: [0, 0] },
  bootloader: { options: ['--boot-drive=', '--append='], arguments: [0, 0] },
  reqpart: { options: ['--add-boot'], arguments: [0, 0] },
  part: {
    options: ['--size=', '--grow', '--ondisk=', '--fstype=', '--encrypted', '--luks-version=', '--passphrase='],
    arguments: [1, 1],
  },
  volgroup: { options: [], arguments: [2, 99] },
  logvol: { options: ['--vgname=', '--name=', '--size=', '--fstype=', '--grow'], arguments: [1, 1] },
  raid: { options: ['--device=', '--level=', '--fstype='], arguments: [3, 99] },
};

/** The problems of a file: unknown commands and options, unused partitions, undefined partitions. */
export function kickstartProblems(text: string): string[] {
  const lines = kickstartWords(text);
  const made = lines.flatMap(([command, place = '']) =>
    command === 'part' && /^(raid|pv)\./.test(place) ? [place] : [],
  );
  const used = lines.flatMap(([command, ...words]) =>
    command === 'raid' || command === 'volgroup' ? words.filter((word) => /^(raid|pv)\./.test(word)) : [],
  );
  const roots = lines.filter(([, ...words]) => words[0] === '/').length;
  return [
    ...lines.flatMap(lineProblems),
    ...made.filter((name) => !used.includes(name)).map((name) => `${name} is made and not used`),
    ...used.filter((name) => !made.includes(name)).map((name) => `${name} is used and not made`),
    ...(roots === 1 ? [] : [`there are ${roots} root filesystems`]),
  ];
}

function lineProblems([command = '', ...words]: readonly string[]): string[] {
  const known = COMMANDS[command];
  if (!known) return [`unknown command ${command}`];
  const options = words.filter((word) => word.startsWith('--')).map((word) => word.replace(/=.*$/s, '='));
  const others = words.length - options.length;
  const [least, most] = known.arguments;
  return [
    ...options.filter((option) => !known.options.includes(option)).map((option) => `${command} has no ${option}`),
    ...(others < least || others > most ? [`${command} takes ${least} to ${most} words, not ${others}`] : []),
  ];
}
