import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { factsFromDhcp } from '../../../appliance/boot/client-facts.ts';
import { decideBoot } from '../../../appliance/boot/decide-boot.ts';
import { dhcpReply, replyLimit } from '../../../appliance/boot/replies/dhcp-reply.ts';
import { decodeDhcp } from '../../../appliance/codecs/dhcp4/decode.ts';
import { describeDhcp, summarizeDhcp } from '../../../appliance/codecs/dhcp4/describe.ts';
import { encodeDhcp } from '../../../appliance/codecs/dhcp4/encode.ts';
import type { DhcpMessage } from '../../../appliance/codecs/dhcp4/message.ts';
import { messageType } from '../../../appliance/codecs/dhcp4/options.ts';
import { type Capture, dhcpCaptures } from '../../codecs/dhcp4/captured-packets.ts';
import { NOW, networkWith, SERVER } from '../boot-fixtures.ts';
import { ip } from '../leases/lease-fixtures.ts';

const GOLDENS = new URL('dhcp-replies/', import.meta.url);
const network = networkWith({ unknown: 'inspect', gateway: ip('10.0.100.1'), dns: [ip('10.0.100.1')] });
const captures = dhcpCaptures();
const goldenName = (name: string): string => `${name.replace(/\.[a-z]+$/, '')}.txt`;
const goldensBefore = readdirSync(GOLDENS).sort();

/** The reply of this appliance to a client that was recorded with another server. */
function answer(request: DhcpMessage): string {
  const facts = factsFromDhcp(request);
  const { nextStage } = decideBoot({ facts, machine: null, network, profile: null, now: NOW });
  const kind = messageType(request) === 'discover' ? 'offer' : 'ack';
  const context = { request, facts, machine: null, network, server: SERVER, serverIdentifier: SERVER.address };
  const reply = dhcpReply({ kind, address: ip('10.0.100.100'), seconds: 600 }, { ...context, stage: nextStage });
  const { bytes, dropped } = encodeDhcp(reply, { maxBytes: replyLimit(request) });
  expect(dropped).toEqual([]);
  return `< ${summarizeDhcp(request)}\n> ${describeDhcp(decodeDhcp(bytes))}\n`;
}

const requests = ({ packets }: Capture): DhcpMessage[] =>
  packets.map(decodeDhcp).filter((message) => message.op === 'request');

describe('real clients', () => {
  it('each capture has its golden file, and there is no other', () => {
    expect(goldensBefore).toEqual(captures.map(({ name }) => goldenName(name)).sort());
  });

  it.each(captures)('those of $name get the replies of its golden file', async (capture) => {
    const text = requests(capture).map(answer).join('\n');
    expect(text).not.toBe('');
    await expect(text).toMatchFileSnapshot(fileURLToPath(new URL(goldenName(capture.name), GOLDENS)));
  });
});
