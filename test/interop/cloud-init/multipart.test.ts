// The user-data of machines that MAAS deploys, read and run by cloud-init itself: the part of the site first, then ours.

import { beforeAll, describe, expect, it } from 'vitest';
import { composeUserData } from '../../../appliance/providers/maas/user-data.ts';
import { type BootPart, firstBoot } from '../../../appliance/render/installers/first-boot.ts';
import { TEMPLATES } from '../../render/installers/samples.ts';
import { DebianRoot } from './debian-root.ts';

let debian: DebianRoot;
beforeAll(async () => {
  debian = await DebianRoot.prepare();
}, 1_800_000);

/** cloud-init's own reader, its own handler of shell scripts, and its own way to run them. */
const READ = `
import sys
from cloudinit import handlers, helpers, subp, user_data
from cloudinit.handlers.shell_script import ShellScriptPartHandler
paths = helpers.Paths({"cloud_dir": "/var/lib/cloud", "run_dir": "/run"})
paths.get_ipath = lambda name=None: "/var/lib/cloud/instance/" + (paths.lookups.get(name) or "")
message = user_data.UserDataProcessor(paths).process(open("/user-data", "rb").read())
handler = ShellScriptPartHandler(paths)
for part in message.walk():
    if part.get_content_maintype() == "multipart":
        continue
    name = part.get_filename()
    print("part", part.get_content_type(), name)
    handler.handle_part(None, part.get_content_type(), name, part.get_payload(decode=True).decode(), None)
try:
    subp.runparts(handler.script_dir)
except RuntimeError as error:
    print("runparts:", error)
`;

const tells = (who: string, code: number): string =>
  `#!/bin/sh\n# "ünicode" and\ttabs\necho ${who} >> /order\nexit ${code}\n`;

async function booted(siteExit: number): Promise<string[]> {
  const siteBootstrap = { name: 'baseline', version: '7.2', script: tells('site', siteExit) };
  const nodeParts: BootPart[] = [{ name: 'node-agent', version: 'b-1', script: tells('node', 0) }];
  const userData = composeUserData(firstBoot({ siteBootstrap }, { instanceId: 'run.1.deploy', nodeParts }, TEMPLATES));
  const program =
    'mkdir -p /var/lib/cloud/instance/scripts; python3 /read.py; echo order:; cat /order; cat /var/lib/coldiron/*/*.status';
  const { output } = await debian.run(program, { '/user-data': userData, '/read.py': READ });
  return output.split('\n');
}

describe('the user-data for MAAS', () => {
  it('is two scripts that cloud-init runs in order, each with its own version', async () => {
    const lines = await booted(0);
    expect(lines.filter((line) => line.startsWith('part '))).toEqual([
      'part text/x-shellscript 10-site-baseline-7.2',
      'part text/x-shellscript 20-node-node-agent-b-1',
    ]);
    const order = lines.indexOf('order:');
    expect(lines.slice(order + 1, order + 3)).toEqual(['site', 'node']);
    expect(lines.filter((line) => line.startsWith('{') && line.includes('"outcome":"succeeded"'))).toHaveLength(2);
  });

  it('does not run our part after a failed part of the site, although cloud-init goes on', async () => {
    const lines = await booted(3);
    const order = lines.indexOf('order:');
    expect(lines[order + 1]).toBe('site');
    expect(lines.join('\n')).toMatch(/"part":"site-bootstrap".*"outcome":"failed","exit":3/);
    expect(lines.join('\n')).toMatch(/"part":"node-bootstrap".*"outcome":"not-run"/);
    expect(lines).not.toContain('node');
  });
});
