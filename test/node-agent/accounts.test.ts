// The account steps of the agent with Debian's own programs (useradd, userdel, runuser, sshd's file layout), in a system of its own.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { encodedKeys } from '../../appliance/allocations/workflow.ts';
import { parseSudoCommand, sudoersText } from '../../appliance/domain/sudo-policy.ts';
import { DebianRoot } from '../interop/cloud-init/debian-root.ts';
import { AGENT } from './agent-rig.ts';

const FIRST = '11111111-1111-4111-8111-111111111111';
const SECOND = '22222222-2222-4222-8222-222222222222';
const KEYS = encodedKeys(['ssh-ed25519 AAAAfirst alice@laptop', 'ssh-ed25519 AAAA/+second']);
const FILES = { 'opt/agent': readFileSync(AGENT, 'utf8') };
const HOME = '/home';
const DEFINITIONS = `
  PATH=/usr/sbin:/usr/bin:/sbin:/bin
  home=${HOME}
  chmod 1777 /tmp
  echo "127.0.0.1 $(uname -n)" >> /etc/hosts
  folder=/var/lib/coldiron/node-agent/accounts
  provision() { sh /opt/agent account provision $folder "$1" "$2" "$3" "\${4-none}"; }
  check() { sh /opt/agent account check $folder "$@"; }
  remove() { sh /opt/agent account remove $folder "$@"; }
  said() { printf '%s: ' "$1"; shift; "$@" 2>&1 || printf 'status %s\\n' "$?"; }
`;

let root: DebianRoot;
beforeAll(async () => {
  root = await DebianRoot.prepare();
});

const run = async (program: string): Promise<string[]> => {
  const { output, status } = await root.run(`${DEFINITIONS}${program}`, FILES);
  expect(status, output).toBe(0);
  return output
    .trim()
    .split('\n')
    .filter((line) => !line.startsWith('sudo rules '));
};

describe('the account of an allocation', () => {
  it('is created with its keys, for keys only, and again without any change', async () => {
    const lines = await run(`
      said first provision ${FIRST} alice ${KEYS}
      cat /etc/passwd /etc/shadow > /before
      said again provision ${FIRST} alice ${KEYS}
      cat /etc/passwd /etc/shadow | cmp - /before && echo unchanged
      getent shadow alice | cut -d : -f 2
      stat -c '%a %U %n' $home/alice $home/alice/.ssh $home/alice/.ssh/authorized_keys
      grep . $home/alice/.ssh/authorized_keys
      said others provision ${FIRST} alice ${encodedKeys([])}
      grep -c . $home/alice/.ssh/authorized_keys || true
    `);
    expect(lines).toEqual([
      `first: the account alice of allocation ${FIRST} has 2 SSH keys`,
      `again: the account alice of allocation ${FIRST} has 2 SSH keys`,
      'unchanged',
      '*',
      `700 alice ${HOME}/alice`,
      `700 alice ${HOME}/alice/.ssh`,
      `600 alice ${HOME}/alice/.ssh/authorized_keys`,
      'ssh-ed25519 AAAAfirst alice@laptop',
      'ssh-ed25519 AAAA/+second',
      `others: the account alice of allocation ${FIRST} has 0 SSH keys`,
      '0',
    ]);
  });

  it('is removed with its processes and files, and again without an error', async () => {
    const lines = await run(`
      provision ${FIRST} alice ${KEYS} >/dev/null
      runuser -u alice -- sh -c 'echo secret > /tmp/hers; sleep 1000 & echo work > ~/file'
      said first remove ${FIRST} alice
      said again remove ${FIRST} alice
      ls /home /tmp $folder
      id alice 2>&1 || true
      find /proc -maxdepth 1 -uid 1000 | wc -l
    `);
    expect(lines).toEqual([
      `first: removed the account alice of allocation ${FIRST}`,
      `again: nothing to remove: this node has no account of allocation ${FIRST}`,
      '/home:',
      '',
      '/tmp:',
      '',
      '/var/lib/coldiron/node-agent/accounts:',
      expect.stringContaining('no such user'),
      '0',
    ]);
  });

  it('never takes over or removes an account of the system', async () => {
    const lines = await run(`
      useradd --create-home bob
      said taken provision ${FIRST} bob ${KEYS}
      said removed remove ${FIRST} bob
      id -u bob
      ls $home/bob/.ssh 2>&1 || true
      mkdir $home/carol
      said home provision ${FIRST} carol ${KEYS}
      mkdir -p $folder && echo daemon > $folder/${SECOND}
      said system remove ${SECOND} daemon
      said other remove ${SECOND} alice
      id -u daemon
    `);
    expect(lines).toEqual([
      'taken: the account bob exists on this node and belongs to no allocation',
      'status 1',
      `removed: nothing to remove: this node has no account of allocation ${FIRST}`,
      '1000',
      expect.stringContaining('No such file'),
      `home: ${HOME}/carol exists on this node and belongs to no allocation`,
      'status 1',
      'system: daemon is a system account (uid 1), and was not removed',
      'status 1',
      `other: the account of allocation ${SECOND} is not alice on this node`,
      'status 1',
      '1',
    ]);
  });

  it('replaces what an earlier allocation left behind, also one of the same user', async () => {
    const lines = await run(`
      provision ${FIRST} alice ${KEYS} >/dev/null
      echo secret > $home/alice/left
      said second provision ${SECOND} alice ${KEYS}
      ls $home/alice $folder
      said late remove ${FIRST} alice
      id -un alice
    `);
    expect(lines).toEqual([
      `second: removed the account alice of allocation ${FIRST}`,
      `the account alice of allocation ${SECOND} has 2 SSH keys`,
      `${HOME}/alice:`,
      '',
      '/var/lib/coldiron/node-agent/accounts:',
      SECOND,
      `late: nothing to remove: this node has no account of allocation ${FIRST}`,
      'alice',
    ]);
  });

  it('is completed after an interruption at each step', async () => {
    const lines = await run(`
      mkdir -p $folder
      echo alice > $folder/${FIRST}
      said marked provision ${FIRST} alice ${KEYS}
      rm -rf $home/alice
      said homeless provision ${FIRST} alice ${KEYS}
      userdel alice 2>/dev/null; rm -rf $home/alice
      said half-removed remove ${FIRST} alice
      ls $folder
    `);
    expect(lines).toEqual([
      `marked: the account alice of allocation ${FIRST} has 2 SSH keys`,
      `homeless: the account alice of allocation ${FIRST} has 2 SSH keys`,
      `half-removed: removed the account alice of allocation ${FIRST}`,
    ]);
  });

  it('writes the keys as the user: a link in the home leads nowhere else', async () => {
    const lines = await run(`
      provision ${FIRST} alice ${KEYS} >/dev/null
      rm -rf $home/alice/.ssh
      mkdir -p /root/.ssh && echo root-key > /root/.ssh/authorized_keys
      ln -s /root/.ssh $home/alice/.ssh
      said linked provision ${FIRST} alice ${KEYS}
      cat /root/.ssh/authorized_keys
    `);
    expect(lines).toEqual([
      expect.stringMatching(/^linked: .*Permission denied/),
      'the SSH keys of alice cannot be written',
      'status 1',
      'root-key',
    ]);
  });
});

describe('the root rights of an account', () => {
  const COMMANDS = ['/usr/bin/id', '/usr/bin/systemctl restart web.service', '/usr/bin/env-of a=b,c:d'];
  const TEXT = sudoersText('alice', COMMANDS);
  const SUDO = Buffer.from(TEXT).toString('base64url');
  const SUM = createHash('sha256').update(TEXT).digest('hex');
  const GIVEN = `
      provision ${FIRST} alice ${KEYS} ${SUDO} > /said
      rules=$(sed -n 's/^sudo rules //p' /said)
  `;

  it('are the listed commands with the listed arguments, and no others', async () => {
    const lines = await run(`${GIVEN}
      stat -c '%a %U %n' /etc/sudoers.d/coldiron-alice
      sha256sum < /etc/sudoers.d/coldiron-alice
      visudo -c > /dev/null && echo valid
      said id runuser -u alice -- sudo -n /usr/bin/id -u
      said bare runuser -u alice -- sudo -n /usr/bin/id
      said shell runuser -u alice -- sudo -n /bin/sh -c id
      said checked check ${FIRST} alice ${SUM} $rules
      remove ${FIRST} alice
      ls /etc/sudoers.d
    `);
    expect(lines).toEqual([
      '440 root /etc/sudoers.d/coldiron-alice',
      `${SUM}  -`,
      'valid',
      expect.stringMatching(/^id: .*(?:password|not allowed)/),
      'status 1',
      expect.stringMatching(/^bare: uid=0\(root\)/),
      expect.stringMatching(/^shell: .*(?:password|not allowed)/),
      'status 1',
      'checked: the root rights of alice are as given',
      `removed the account alice of allocation ${FIRST}`,
      'README',
    ]);
  });

  it.each([
    ['a changed file', 'echo "# more" >> /etc/sudoers.d/coldiron-alice', /is not the reviewed one/],
    ['a missing file', 'rm /etc/sudoers.d/coldiron-alice', /is not the reviewed one \(none\)/],
    ['every command', 'echo "alice ALL=(ALL) NOPASSWD: ALL" > /etc/sudoers.d/other', /may run every command as root/],
    ['every command by a group', 'usermod -aG sudo alice', /may run every command as root/],
    [
      'one more command',
      'echo "alice ALL=(root) NOPASSWD: /bin/ls" > /etc/sudoers.d/other',
      /other commands than before/,
    ],
  ])('are noticed with %s', async (_what, change, reason) => {
    const lines = await run(`${GIVEN}
      ${change}
      said checked check ${FIRST} alice ${SUM} $rules
    `);
    expect(lines).toEqual([expect.stringMatching(/^checked: drift: /), 'status 1']);
    expect(lines[0]).toMatch(reason);
  });

  it('are refused when visudo does not accept them, and for a user who may do everything already', async () => {
    const broken = Buffer.from('alice ALL=(root NOPASSWD /bin/ls\n'.padEnd(36, '\n')).toString('base64url');
    const lines = await run(`
      said broken provision ${FIRST} alice ${KEYS} ${broken}
      ls /etc/sudoers.d
      echo "%alice ALL=(ALL) NOPASSWD: ALL" > /etc/sudoers.d/other
      said blanket provision ${FIRST} alice ${KEYS} none
    `);
    expect(lines).toEqual([
      'broken: visudo does not accept the sudo policy',
      'status 1',
      'README',
      'blanket: drift: alice may run every command as root',
      'status 1',
    ]);
  });

  it('of any policy that is accepted are valid for visudo', async () => {
    const word = fc.stringMatching(/^[A-Za-z0-9._/+@%:=,-]{1,12}$/);
    const command = fc
      .tuple(fc.stringMatching(/^(\/[a-z][a-z0-9._+-]{0,8}){1,3}$/), fc.array(word, { maxLength: 4 }))
      .map((parts) => parts.flat().join(' '))
      .filter((text) => parseSudoCommand(text).ok);
    const policies = fc.sample(fc.array(command, { minLength: 1, maxLength: 6 }), 100);
    const files = policies.map((commands, n) => [`policies/${n}`, sudoersText('alice', commands)] as const);
    const { output, status } = await root.run(
      'for file in /policies/*; do /usr/sbin/visudo -cqf "$file" || { cat "$file"; exit 1; }; done; echo all valid',
      Object.fromEntries(files),
    );
    expect(output.trim()).toBe('all valid');
    expect(status).toBe(0);
  });
});
