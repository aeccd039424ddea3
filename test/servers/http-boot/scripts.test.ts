import { afterEach, describe, expect, it } from 'vitest';
import { ColdironError } from '../../../appliance/domain/errors.ts';
import { instantText } from '../../../appliance/domain/instant.ts';
import {
  INTENT_ID,
  intentWith,
  MAC,
  machineIn,
  NODE_ID,
  OTHER_MAC,
  OTHER_UUID,
  profileWith,
  UUID,
} from '../../boot/boot-fixtures.ts';
import { BootServerRig } from './boot-server-rig.ts';

const SCRIPT = `/boot/ipxe/52-54-00-12-34-56.ipxe?uuid=${UUID}&serial=SN%201&buildarch=x86_64&platform=efi&product=R750+`;
const deploying = machineIn('deploying', { intent: intentWith() });

let rig: BootServerRig;
afterEach(() => rig.stop());

async function start(...options: Parameters<typeof BootServerRig.start>): Promise<void> {
  rig = await BootServerRig.start(...options);
}

const withImage = (): void => {
  rig.shelve('nixos/worker/bzImage', 'kernel', { kind: 'kernel', architecture: 'x86_64' });
  rig.shelve('nixos/worker/initrd', 'initrd');
  rig.shelve(
    'nixos/worker/netboot.ipxe',
    '#!ipxe\nkernel bzImage init=/nix/store/abc/init initrd=initrd quiet\nboot\n',
  );
};

const script = async (path = SCRIPT): Promise<string> => (await fetch(rig.url(path))).text();

describe('the entry script', () => {
  it('redirects every machine to its own script, at the server address of its network', async () => {
    await start();
    const text = await script('/boot/ipxe/boot.ipxe');
    expect(text).toContain(`http://127.0.0.1:${rig.port}/boot/ipxe/`);
    expect(rig.fetched).toEqual([]);
  });

  it('is recorded in the trail, for the holder of the address', async () => {
    await start();
    await script('/boot/ipxe/boot.ipxe');
    expect(await rig.noted('http.entry')).toEqual([
      { kind: 'http.entry', mac: MAC, machine: NODE_ID, data: { path: '/boot/ipxe/boot.ipxe' } },
    ]);
  });

  it('names the advertised port, where it is not the listening port', async () => {
    await start({ advertisedPort: 80 });
    expect(await script('/boot/ipxe/boot.ipxe')).toContain('http://127.0.0.1:80/boot/');
  });
});

describe('the script of a machine', () => {
  it('is the decision with its reason, and is recorded in the trail', async () => {
    await start({ machines: [machineIn('active')] });
    expect(await script()).toContain('node01 is in service and boots from its own disk');
    const [note] = await rig.noted('http.script');
    expect(note).toMatchObject({ mac: MAC, machine: NODE_ID });
    expect(note?.data).toMatchObject({ outcome: 'local-disk', because: 'active', product: 'R750+', serial: 'SN 1' });
    expect(rig.fetched).toEqual([MAC]);
  });

  it('displays a refusal when the chassis is another one, and the finding is reported', async () => {
    await start({ machines: [machineIn('active')] });
    expect(await script(SCRIPT.replace(UUID, OTHER_UUID))).toContain('Code: chassis-mismatch');
    expect(rig.findings).toEqual([{ kind: 'chassis-mismatch', expected: UUID, seen: OTHER_UUID }]);
  });

  it('tells a removed machine its name, that it was removed, and what to do', async () => {
    const removed = machineIn('removed', { lifecycle: { note: 'no longer declared by lab' } });
    await start({ machines: [removed], network: { unknown: 'ignore' } });
    const echoed = (await script()).split('\n').filter((line) => line.startsWith('echo '));
    expect(echoed.slice(0, 4)).toEqual([
      `echo Coldiron does not boot node01 (${MAC}), state: removed`,
      `echo Reason: node01 was removed at ${instantText(removed.lifecycle.since)} (no longer declared by lab), and its identity is revoked`,
      expect.stringMatching(/^echo To do: .*declare it as a new node /),
      'echo Code: removed',
    ]);
    const [note] = await rig.noted('http.script');
    expect(note).toMatchObject({ mac: MAC, machine: NODE_ID, data: { outcome: 'refusal', because: 'removed' } });
    expect(await script(SCRIPT.replace('52-54-00-12-34-56', '52-54-00-99-99-99'))).toContain(
      `node01 (${OTHER_MAC}), state: removed`,
    );
    expect(rig.findings).toEqual([]);
  });

  it('is not found for a machine that gets no reply', async () => {
    await start({ network: { unknown: 'ignore' } });
    const response = await fetch(rig.url(SCRIPT));
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: 'not_found', message: expect.stringContaining('ignores') });
    expect(await rig.noted('http.refused')).toHaveLength(1);
  });

  it('is safe against any text that a machine sends about itself', async () => {
    await start({ machines: [machineIn('active')] });
    const odd = '/boot/ipxe/52-54-00-12-34-56.ipxe?uuid=%0a%00&serial=%ff%fe&buildarch=x%20y&platform=%7c%7c&arch=9e9';
    expect((await fetch(rig.url(odd))).status).toBe(200);
    const [note] = await rig.noted('http.script');
    expect(note?.data).toMatchObject({ oddities: expect.arrayContaining([expect.stringContaining('not a UUID')]) });
  });
});

describe('a script that installs', () => {
  it('is issued after its intent is consumed, with the parameters of the image', async () => {
    await start({ machines: [deploying] });
    withImage();
    const text = await script();
    expect(text).toContain('/boot/nixos/worker/bzImage initrd=initrd init=/nix/store/abc/init quiet ');
    expect(rig.consumed).toEqual([INTENT_ID]);
  });

  it('is not issued to another machine, which consumes nothing and counts as no boot', async () => {
    await start({ machines: [deploying], stranger: 'another card answers' });
    withImage();
    const text = await script();
    expect(text).not.toContain('kernel ');
    expect(text).toContain('another card answers');
    expect([rig.consumed, rig.fetched, rig.findings]).toEqual([[], [], []]);
    expect((await rig.noted('http.script'))[0]?.data).toMatchObject({ outcome: 'hold', words: 'another card answers' });
  });

  it('is a boot from the local disk when another request consumed the intent', async () => {
    await start({ machines: [deploying], consume: async () => false });
    withImage();
    const text = await script();
    expect(text).not.toContain('kernel ');
    expect(text).toContain('was used up at 2026-01-10T12:00:00');
    expect((await rig.noted('http.script'))[0]?.data).toMatchObject({
      outcome: 'local-disk',
      because: 'intent-consumed',
    });
  });

  it('is issued to exactly one of many concurrent requests', async () => {
    let open = true;
    const consume = async (): Promise<boolean> => {
      const first = open;
      open = false;
      return first;
    };
    await start({ machines: [deploying], consume });
    withImage();
    const texts = await Promise.all(Array.from({ length: 20 }, () => script()));
    expect(texts.filter((text) => text.includes('\nkernel '))).toHaveLength(1);
  });

  it('is held while the store cannot write: the machine waits and retries', async () => {
    const broken = async (): Promise<boolean> => {
      throw new ColdironError('store_unavailable', 'disk full');
    };
    await start({ machines: [deploying], consume: broken });
    withImage();
    const text = await script();
    expect(text).not.toContain('kernel ');
    expect(text).toContain('/boot/ipxe/boot.ipxe || goto failed');
    expect((await rig.noted('http.script'))[0]?.data).toMatchObject({ outcome: 'hold' });
    expect(rig.errors).toHaveLength(1);
  });

  it.each([
    ['the image is not there', () => undefined, 'nixos/worker/bzImage, which is not'],
    [
      'the image is for another architecture',
      () => rig.shelve('nixos/worker/bzImage', 'k', { architecture: 'arm64' }),
      'arm64',
    ],
    ['its netboot.ipxe makes no sense', () => rig.shelve('nixos/worker/netboot.ipxe', 'x'), 'netboot.ipxe'],
  ])('is a refusal that keeps the intent when %s', async (_what, spoil, words) => {
    await start({ machines: [deploying] });
    withImage();
    if (words.startsWith('nixos/worker/bzImage')) rig.assets.clear();
    spoil();
    const text = await script();
    expect(text).toContain('Code: image-missing');
    expect(text).toContain(words);
    expect(rig.consumed).toEqual([]);
  });

  it('consumes nothing for a HEAD, which has the length of the GET and is recorded as a probe', async () => {
    await start({ machines: [deploying] });
    withImage();
    const head = await fetch(rig.url(SCRIPT), { method: 'HEAD' });
    expect([rig.consumed, rig.fetched, rig.findings]).toEqual([[], [], []]);
    expect(rig.notes).toMatchObject([{ kind: 'http.probe', mac: MAC, machine: NODE_ID }]);
    expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(await script())));
  });

  it('of a cloud image starts the service OS, which installs it', async () => {
    await start({ machines: [deploying], profiles: [profileWith({ kind: 'cloud-image' })] });
    rig.shelve('images/service-os-x86_64/kernel', 'k');
    rig.shelve('images/service-os-x86_64/initrd', 'i');
    expect(await script()).toMatch(
      /kernel \S+\/boot\/service-os-x86_64\/kernel .* coldiron.mode=install coldiron.profile=worker /,
    );
  });
});

describe('the menu', () => {
  it('lists the profiles of the machine with the commands to arm them', async () => {
    const other = profileWith({ name: 'arm' as never, architectures: ['arm64'] });
    await start({ machines: [machineIn('ready')], profiles: [profileWith(), other] });
    const text = await script(`/boot/ipxe/menu.ipxe?mac=${MAC}`);
    expect(text).toContain('coldiron deploy node01 --profile worker');
    expect(text).not.toContain('profile-arm');
    expect(await rig.noted('http.menu')).toMatchObject([{ mac: MAC, machine: NODE_ID }]);
  });
});

describe('a machine that waits for approval', () => {
  it('sees that on its screen, then is held by 503 with Retry-After, and continues when it is accepted', async () => {
    await start({ machines: [], network: { unknown: 'hold' } });
    expect(await script()).toContain('waits for approval');
    const held = await fetch(rig.url(`${SCRIPT}&waiting=1`));
    expect([held.status, held.headers.get('retry-after')]).toEqual([503, '10']);
    expect(await held.json()).toMatchObject({
      code: 'service_unavailable',
      message: expect.stringContaining('approval'),
    });
    await rig.stop();
    await start({ machines: [machineIn('registered')], network: { unknown: 'hold' } });
    expect(await script(`${SCRIPT}&waiting=1`)).toContain('own disk');
  });
});

describe('an unknown machine', () => {
  const unknown = SCRIPT.replace('52-54-00-12-34-56', '52-54-00-99-99-99').replace(UUID, OTHER_UUID);

  it('is reported when it fetches its script, like one that sends a DHCP request', async () => {
    await start({ machines: [machineIn('active')] });
    await script(unknown);
    expect(rig.unknown).toEqual([`${OTHER_MAC} on provisioning`]);
  });

  it('is not reported for a HEAD or for a client that is no boot loader; a known or removed machine never is', async () => {
    await start({ machines: [machineIn('active')] });
    await fetch(rig.url(unknown), { method: 'HEAD' });
    await script('/boot/ipxe/52-54-00-99-99-99.ipxe');
    await script();
    await rig.stop();
    const before = rig.unknown;
    await start({ machines: [machineIn('removed')] });
    await script();
    expect([...before, ...rig.unknown]).toEqual([]);
  });
});

describe('a flood of requests', () => {
  it('fills the trail with at most 100 refusals a second', async () => {
    let now = 0;
    await start({ monotonicNow: () => now });
    const refuse = async (count: number): Promise<void> => {
      for (let each = 0; each < count; each++) expect((await fetch(rig.url('/boot/loader/none'))).status).toBe(404);
    };
    await refuse(150);
    expect(await rig.noted('http.refused')).toHaveLength(100);
    now = 1000;
    await refuse(1);
    expect(await rig.noted('http.refused')).toHaveLength(101);
  });
});

describe('a report from a script', () => {
  it('is recorded in the trail with its error number, with bounded length', async () => {
    await start({ machines: [machineIn('ready')] });
    const query = `mac=52-54-00-12-34-56&stage=installer&errno=2d0c613b&message=${'x'.repeat(2000)}&other=1`;
    expect(await script(`/boot/report?${query}`)).toBe('noted\n');
    const posted = await fetch(rig.url(`/boot/report?${query}`), { method: 'POST', body: 'ignored' });
    expect(await posted.text()).toBe('noted\n');
    const [first, second] = await rig.noted('boot.failed', 2);
    expect(first).toMatchObject({ mac: MAC, machine: NODE_ID });
    expect(first?.data).toEqual({ stage: 'installer', errno: '2d0c613b', message: `${'x'.repeat(60)}…` });
    expect(second?.data).toEqual(first?.data);
  });

  it('ends the work of its machine, whatever others report: then it is not noted a second time', async () => {
    const ended: unknown[] = [];
    await start({
      machines: [machineIn('commissioning')],
      monotonicNow: () => 0,
      endFailedBoot: async ({ id }, report, address) => ended.push([id, report, address]) > 0 && report.boot === 'b-1',
    });
    for (let each = 0; each < 150; each++) await script(`/boot/report?mac=${MAC}&errno=2e008001`);
    expect(await script(`/boot/report?mac=${MAC}&stage=service-os&errno=2e008001&boot=b-1`)).toBe('noted\n');
    expect(ended.at(-1)).toEqual([
      NODE_ID,
      { boot: 'b-1', data: { mac: MAC, stage: 'service-os', errno: '2e008001' } },
      '127.0.0.1',
    ]);
    expect(await rig.noted('boot.failed')).toHaveLength(100);
    expect(ended).toHaveLength(151);
  });

  it('is no failure without an error number: a system has started', async () => {
    await start({ machines: [machineIn('ready')] });
    await script(`/boot/report?mac=${MAC}&stage=service-os&platform=efi`);
    expect(await rig.noted('boot.reported', 1)).toMatchObject([{ mac: MAC, data: { stage: 'service-os' } }]);
  });
});
