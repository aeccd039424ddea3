// For every client in every situation: what `explain` says is what DHCP, HTTP and TFTP answer.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { explainNode } from '../../appliance/api/explain-node.ts';
import type { Explanation } from '../../appliance/boot/explain.ts';
import { architecture, MAC, NOW, UUID } from '../boot/boot-fixtures.ts';
import { type Cell, CLIENTS, cellsOf, cellText, MatrixAppliance, machineOf } from './boot-matrix.ts';

const appliance = new MatrixAppliance();
beforeAll(() => appliance.start());
afterAll(() => appliance.stop());

const CONFIG = `grub/machine/${MAC}_${UUID}.cfg`;
const starts = ({ outcome: { kind } }: Explanation): boolean => kind === 'service-os' || kind === 'installer';

function explained({ client }: Cell): Explanation {
  const { fleet, resolver, bootPort } = appliance;
  const query = { arch: architecture(client.arch), via: null, state: null, armed: null };
  return explainNode({ fleet, resolver, bootPort, now: NOW }, MAC, query);
}

/** The final text that the machine gets, in the same form for all clients. */
interface End {
  readonly because: string | null;
  readonly text: string | null;
}

async function endOverHttp(cell: Cell): Promise<End> {
  const { status, text } = await appliance.script(cell);
  if (status !== 200) return { because: null, text: null };
  const note = appliance.notes.find(({ kind }) => kind === 'http.script');
  const data = note?.data as { readonly because: string } | undefined;
  return { because: data?.because ?? null, text };
}

async function endOverTftp(): Promise<End> {
  const { sent, decided } = await appliance.tftp(CONFIG);
  return { because: sent === null ? null : decided, text: sent };
}

/** Differences between the explanation and the servers; empty if there are none. */
async function differences(cell: Cell): Promise<string[]> {
  appliance.enter(cell);
  const explanation = explained(cell);
  const found: string[] = [];
  const compare = (what: string, claimed: unknown, served: unknown): void => {
    if (claimed !== served) found.push(`${cellText(cell)}: ${what}: explain says ${claimed}, the servers ${served}`);
  };

  compare('boot file', expectedFile(cell, explanation), await appliance.offered(cell));
  if (cell.client.what === 'operating system') return found;
  if (cell.client.autoexec) compare('autoexec', true, (await appliance.tftp('autoexec.ipxe')).sent !== null);
  const file = explanation.stages.find(({ stage }) => stage === 'loader')?.file;
  if (file) compare('loader', file, (await appliance.tftp(file)).sent);

  const end = cell.client.secureBoot ? await endOverTftp() : await endOverHttp(cell);
  compare('because', explanation.outcome.kind === 'silent' ? null : explanation.because.id, end.because);
  compare('starts a kernel', starts(explanation), /^(?:if |elif )?(?:kernel|linux) /m.test(end.text ?? ''));
  compare('words in the text', true, plain(end.text ?? '').includes(plain(explanation.because.words)));
  compare('consumed', 'intent' in explanation.outcome ? explanation.outcome.intent : undefined, appliance.consumed[0]);
  if (cell.client.secureBoot) {
    const image = explanation.outcome.kind === 'installer' ? 'nixos/worker/bzImage' : 'service-os-x86_64/kernel';
    compare('image over TFTP', starts(explanation), (await appliance.tftp(`boot/${image}`)).sent !== null);
  }
  return found;
}

/** Texts are quoted for shells: only letters and digits are compared. */
const plain = (text: string): string => text.replaceAll(/[^A-Za-z0-9]+/g, ' ');

function expectedFile({ client }: Cell, { stages, outcome }: Explanation): string | null {
  if (outcome.kind === 'silent') return null;
  if (client.what === 'operating system') return '';
  const isIpxe = client.what.startsWith('iPXE');
  const stage = stages.find((each) => each.stage === (isIpxe ? 'ipxe' : 'firmware'));
  return stage?.url ?? stage?.file ?? '';
}

describe.each(CLIENTS)('$what', (client) => {
  it('gets what explain says, in every state, with and without images, orders and intents', async () => {
    const found: string[] = [];
    for (const cell of cellsOf(client)) found.push(...(await differences(cell)));
    expect(found).toEqual([]);
  });
});

describe('a machine whose intent another request consumed first', () => {
  it.each(
    CLIENTS.filter(({ what }) => what === 'UEFI PXE x64' || what === 'GRUB under Secure Boot').flatMap((client) =>
      (['deploying', 'releasing'] as const).map((state) => ({ client, state, what: client.what })),
    ),
  )('gets what explain says about the consumed intent: $what, $state', async ({ client, state }) => {
    const cell: Cell = { client, state, images: true, orders: true, intent: 'armed' };
    appliance.enter(cell);
    appliance.storeHasIntent = false;
    const end = client.secureBoot ? await endOverTftp() : await endOverHttp(cell);
    const machine = machineOf(cell);
    if (machine?.intent == null) throw new Error('this cell is armed');
    appliance.enter(cell, { ...machine, intent: { ...machine.intent, consumedAt: NOW } });
    const explanation = explained(cell);
    expect(explanation.because.id).toBe('intent-consumed');
    expect(end.because).toBe(explanation.because.id);
    expect(plain(end.text ?? '')).toContain(plain(explanation.because.words));
  });
});
