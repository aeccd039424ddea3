// Our scripts, checked by ShellCheck and run by real shells, with hostile values.

import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { renderCloudInit } from '../../../appliance/render/cloud-init/cloud-init.ts';
import { renderAutoinstall } from '../../../appliance/render/installers/autoinstall.ts';
import { renderKickstart } from '../../../appliance/render/installers/kickstart.ts';
import { renderPreseed } from '../../../appliance/render/installers/preseed.ts';
import { INSTALLER_CASES, MANUAL, TEMPLATES } from '../../render/installers/samples.ts';
import { SAMPLE_PLANS } from '../../render/plans.ts';
import { needPackages } from '../packages.ts';
import { DebianRoot } from './debian-root.ts';
import { shellCheck } from './shellcheck.ts';

let debian: DebianRoot;
beforeAll(async () => {
  needPackages(['shellcheck']);
  debian = await DebianRoot.prepare();
}, 1_800_000);

const PART = {
  owner: 'node-bootstrap',
  name: 'agent',
  version: '1',
  instance: 'i-1',
  payload: '#!/bin/sh\ntrue\n',
  needs: ['/var/lib/coldiron/site-bootstrap/a-1'],
  reports: true,
};

const late = (): string => {
  const [, plan, extras] = INSTALLER_CASES.preseed[0];
  return renderPreseed(plan, extras, TEMPLATES).find(({ path }) => path === 'late.sh')?.text ?? '';
};
const post = (): string => {
  const [, plan, extras] = INSTALLER_CASES.kickstart[0];
  return /^%post --erroronfail\n(.*?)^%end$/ms.exec(renderKickstart(plan, extras, TEMPLATES)[0]?.text ?? '')?.[1] ?? '';
};

describe('ShellCheck', () => {
  it.each([
    ['a part of the first boot', () => TEMPLATES.render('installers/first-boot-part.sh', PART)],
    [
      'a part without prerequisites',
      () => TEMPLATES.render('installers/first-boot-part.sh', { ...PART, needs: [], reports: false }),
    ],
    [
      'what runs the parts',
      () => TEMPLATES.render('installers/run-first-boot.sh', { folder: '/var/lib/coldiron/first-boot' }),
    ],
    ['the kernel parameters', () => TEMPLATES.render('installers/kernel-parameters.sh', { parameters: 'quiet a=b' })],
    [
      "the disks of Debian's installer",
      () => TEMPLATES.render('installers/preseed-disks.sh', { disks: ['/dev/disk/by-id/a'] }),
    ],
    [
      "the disks of Ubuntu's installer",
      () =>
        `#!/bin/sh\n${TEMPLATES.render('installers/autoinstall-disks.sh', { disks: [{ path: '/dev/disk/by-id/a', mark: 'm' }] })}`,
    ],
    ["the end of Debian's installer", late],
    ['the end of a RHEL-like installer', post],
  ])('finds nothing in %s', async (_what, script) => {
    expect(script()).toContain('#!/bin/sh');
    expect(await shellCheck(script())).toBe('');
  });
});

describe('a payload', () => {
  const text = fc
    .array(
      fc.oneof(
        fc.string({ unit: 'grapheme' }),
        fc.constantFrom(
          "'",
          '"',
          '\\',
          '$(reboot)',
          '`id`',
          '%end',
          '#cloud-config',
          '\r',
          '\t',
          '🧊',
          '\u0085',
          '\u2028',
          '!!x',
          'END',
        ),
        fc.constantFrom(
          'x'.repeat(4096),
          '\u0007\u001b',
          '{{x}}',
          '%s%n',
          '\uFEFF',
          '---',
          '...',
          ' leading',
          'trailing ',
        ),
      ),
      { maxLength: 8 },
    )
    // `true` reads no script: nothing that follows runs.
    .map((parts) => `#!/bin/true\n${parts.join('\n')}`)
    .filter((script) => script.isWellFormed() && !script.includes('\0'));

  it('passes through YAML and two shells byte for byte', async () => {
    const scripts = fc.sample(text, { numRuns: 80, seed: 20 });
    const given = Object.fromEntries(
      scripts.flatMap((script, index) => {
        const siteBootstrap = { name: 'part', version: String(index), script };
        const files = renderCloudInit({ ...SAMPLE_PLANS.debian, siteBootstrap }, MANUAL, TEMPLATES);
        const vendor = files.find(({ path }) => path === 'vendor-data')?.text ?? '';
        return [[`/vendor/${index}`, vendor]];
      }),
    );
    const reader = `import glob, os, shutil, subprocess, yaml
folder = '/var/lib/coldiron/site-bootstrap/'
for shell in ['dash', 'bash']:
    os.makedirs('/out/' + shell)
    for path in glob.glob('/vendor/*'):
        [part] = yaml.safe_load(open(path, newline='').read())
        script = open('/script', 'w', newline=''); script.write(part['content']); script.close()
        subprocess.run([shell, '/script'], check=True, stdout=subprocess.DEVNULL)
        payload = 'part-' + os.path.basename(path)
        shutil.move(folder + payload, '/out/' + shell)
        os.remove(folder + payload + '.status')
`;
    const ran = await debian.run('python3 /read.py', { ...given, '/read.py': reader });
    expect(ran.status, ran.output).toBe(0);
    for (const [index, script] of scripts.entries()) {
      for (const shell of ['dash', 'bash']) expect(ran.read(`/out/${shell}/part-${index}`)).toBe(script);
    }
  });
});

const DISKS = `
  mkdir -p /dev/disk/by-id /fake
  mknod /dev/sdx b 7 250
  mknod /dev/sdy b 7 251
  ln -s ../../sdx /dev/disk/by-id/ata-DISK_B
  printf '#!/bin/sh\\necho "$@" >> /answered\\n' > /fake/debconf-set
  printf '#!/bin/sh\\necho "$@" >> /logged\\n' > /fake/logger
  printf '#!/bin/sh\\n' > /fake/udevadm
  chmod +x /fake/*
  export PATH=/fake:$PATH`;
const SECOND_DISK = 'ln -s ../../sdy /dev/disk/by-id/ata-DISK_A';

describe('the selected disks', () => {
  const [, lvm, extras] = INSTALLER_CASES.preseed[2];
  const disksScript = renderPreseed(lvm, extras, TEMPLATES).find(({ path }) => path === 'disks.sh')?.text ?? '';

  it("are named to Debian's installer in order", async () => {
    const ran = await debian.run(`${DISKS}\n${SECOND_DISK}\nsh /disks.sh`, { '/disks.sh': disksScript });
    expect(ran.status, ran.output).toBe(0);
    expect(ran.read('/answered')).toBe('partman-auto/disk /dev/sdy /dev/sdx\n');
  });

  it("are not set for Debian's installer when one is missing", async () => {
    const ran = await debian.run(`${DISKS}\nsh /disks.sh`, { '/disks.sh': disksScript });
    expect(ran.status).not.toBe(0);
    expect(ran.read('/answered')).toBe('partman-auto/disk /dev/coldiron/no-such-disk\n');
    expect(ran.read('/logged')).toContain('this machine has no disk /dev/disk/by-id/ata-DISK_A');
  });

  /** As subiquity does it: the answers to a file, the early commands, the answers read again. */
  const subiquity = `import json, subprocess, yaml
answers = yaml.safe_load(open('/user-data').read())['autoinstall']
open('/autoinstall.yaml', 'w').write(yaml.dump(answers, default_flow_style=False))
for command in answers['early-commands']: subprocess.run(command, check=True)
again = yaml.safe_load(open('/autoinstall.yaml').read())
print(json.dumps([a['path'] for a in again['storage']['config'] if a['type'] == 'disk']))
`;
  const [, mirrored, mirrorExtras] = INSTALLER_CASES.autoinstall[1];
  const given = {
    '/user-data': renderAutoinstall(mirrored, mirrorExtras, TEMPLATES)[1]?.text ?? '',
    '/subiquity.py': subiquity,
  };

  it("are put into the answers of Ubuntu's installer", async () => {
    const ran = await debian.run(`${DISKS}\n${SECOND_DISK}\npython3 /subiquity.py`, given);
    expect(ran.status, ran.output).toBe(0);
    expect(JSON.parse(ran.output)).toEqual(['/dev/sdy', '/dev/sdx']);
  });

  it("stop Ubuntu's installer when one is missing", async () => {
    const ran = await debian.run(`${DISKS}\npython3 /subiquity.py`, given);
    expect(ran.status).not.toBe(0);
    expect(ran.output).toContain('coldiron: this machine has no disk /dev/disk/by-id/ata-DISK_A');
  });
});
