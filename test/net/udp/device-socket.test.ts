import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseIpv4 } from '../../../appliance/domain/ipv4.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { interfaceIndexes } from '../../../appliance/net/udp/bound-descriptor.ts';
import { openDeviceSocket } from '../../../appliance/net/udp/device-socket.ts';
import { fromPortZero } from './from-port-zero.ts';

const LOOPBACK = mustParse(parseIpv4('127.0.0.1'));
const LONGER_THAN_IPV4_CARRIES = 66_000;

async function onLoopback(port = 0, shared = false) {
  const errors: string[] = [];
  const received: string[] = [];
  const onError = ({ message }: Error) => void errors.push(message);
  const onMessage = (bytes: Uint8Array) => void received.push(Buffer.from(bytes).toString());
  const socket = await openDeviceSocket({ interface: 'lo', port, shared, onMessage, onError });
  onTestFinished(() => socket.close());
  return { socket, errors, received };
}

/** A port of another program that allows sharing, as DHCP clients do. */
async function sharedPort(): Promise<number> {
  const other = createSocket({ type: 'udp4', reuseAddr: true });
  onTestFinished(() => void other.close());
  other.bind(0, '0.0.0.0');
  await once(other, 'listening');
  return other.address().port;
}

describe('a socket of an interface', () => {
  it('reports a datagram that was not sent, with its destination and the reason', async () => {
    const { socket, errors } = await onLoopback();
    socket.send(new Uint8Array(LONGER_THAN_IPV4_CARRIES), { address: LOOPBACK, port: 9 });
    await expect.poll(() => errors).toEqual(['EMSGSIZE (to 127.0.0.1:9)']);
  });

  it('delivers nothing from port zero, and sends nothing there', async () => {
    // The kernel prefers the socket that is bound to the interface.
    const port = await sharedPort();
    const { socket, errors, received } = await onLoopback(port, true);
    const fromZero = fromPortZero(port);
    for (let time = 0; time < 50; time += 1) fromZero(Buffer.from('from nowhere'));
    socket.send(Buffer.from('to nowhere'), { address: LOOPBACK, port: 0 });
    socket.send(Buffer.from('to myself'), { address: LOOPBACK, port });
    await expect.poll(() => received).toEqual(['to myself']);
    expect(errors).toEqual([]);
  });

  it('does not share its port unless configured to', async () => {
    const port = await sharedPort();
    await expect(onLoopback(port)).rejects.toThrow('another program on this machine listens there already');
    await expect(onLoopback(port, true)).resolves.toBeDefined();
  });

  it('resolves interface indexes', () => {
    const indexOf = interfaceIndexes();
    expect(indexOf('lo')).toBe(1);
    expect(indexOf('no-such-if')).toBeNull();
  });
});
