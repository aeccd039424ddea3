// A BMC in this process: RMCP+ with cipher suites 3 and 17, Kg, few session slots, and configurable faults.

import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { concatBytes, uint32Bytes } from '../../../../appliance/codecs/ipmi/bytes.ts';
import { IpmiDecodeError } from '../../../../appliance/codecs/ipmi/errors.ts';
import { checksum } from '../../../../appliance/codecs/ipmi/message.ts';
import { encodeAlgorithms } from '../../../../appliance/codecs/ipmi/open-session.ts';
import {
  decodePacket,
  encodeHandshake,
  encodeSessionless,
  PAYLOAD,
  type RmcpPlusPacket,
} from '../../../../appliance/codecs/ipmi/packet.ts';
import { type Answer, answerCommand, type BmcFaults } from './commands.ts';
import { type SimulatedMachine, type SimulatedUser, simulatedMachine } from './machine.ts';
import { SimulatedConsole } from './simulated-console.ts';
import { SimulatedSession, suiteOf } from './simulated-session.ts';

export interface SimulatorOptions {
  /** Default: 127.0.0.1 and any free port. */
  readonly address?: string;
  readonly port?: number;
  readonly users?: readonly SimulatedUser[];
  readonly bmcKey?: string;
  readonly suites?: readonly number[];
  readonly slots?: number;
  /** Replies to every Open Session with these algorithms. */
  readonly forcedAlgorithms?: { authentication: number; integrity: number; confidentiality: number };
  readonly ipmi2?: boolean;
  /** The highest privilege that Set Session Privilege grants. */
  readonly privilegeCap?: number;
}

export const ADMIN: SimulatedUser = { name: 'admin', password: 'correct-horse-20byte', privilege: 4, enabled: true };
export const OPERATOR: SimulatedUser = { name: 'operator', password: 'op-pass', privilege: 3, enabled: true };
/** The reply to a request for the highest available privilege. */
const HIGHEST = 4;
const PONG = Buffer.from('0600ff06000011be40000010000011be000000008100000000000000', 'hex');

export class SimulatedBmc {
  readonly machine: SimulatedMachine;
  readonly faults: BmcFaults = {};
  readonly sessions = new Map<number, SimulatedSession>();
  readonly console = new SimulatedConsole();
  /** Received payload types and commands, in order. */
  readonly received: string[] = [];
  /** Number of capability requests, and of packets dropped while offline. */
  capabilityRequests = 0;
  missed = 0;
  /** True: drops all packets, as if unplugged. */
  offline = false;
  readonly #options: SimulatorOptions;
  readonly #socket: Socket;
  #nextSession = 0x10;
  #sayOnConsole: (payload: Uint8Array) => void = () => undefined;

  private constructor(options: SimulatorOptions, socket: Socket) {
    this.#options = options;
    this.#socket = socket;
    this.machine = simulatedMachine(options.users ?? [{ ...ADMIN, name: '', enabled: false }, ADMIN, OPERATOR]);
    socket.on('message', (bytes, from) => this.#receive(bytes, from));
  }

  static async start(options: SimulatorOptions = {}): Promise<SimulatedBmc> {
    const socket = createSocket('udp4');
    socket.bind(options.port ?? 0, options.address ?? '127.0.0.1');
    await once(socket, 'listening');
    return new SimulatedBmc(options, socket);
  }

  get port(): number {
    return this.#socket.address().port;
  }

  get activeSessions(): number {
    return [...this.sessions.values()].filter(({ active }) => active).length;
  }

  takeConsoleAway(): void {
    this.#sayOnConsole(this.console.takeAway());
  }

  /** Sends a packet of the console as it is, in order with the others of its session. */
  sendConsole(payload: Uint8Array): void {
    this.#sayOnConsole(payload);
  }

  async stop(): Promise<void> {
    this.#socket.close();
    await once(this.#socket, 'close');
  }

  #receive(bytes: Uint8Array, from: RemoteInfo): void {
    if (this.offline) {
      this.missed += 1;
      return;
    }
    const reply = (packet: Uint8Array): void => this.#socket.send(packet, from.port, from.address);
    if (bytes[3] === 0x06) {
      PONG[9] = bytes[9] ?? 0;
      reply(PONG);
      return;
    }
    try {
      const packet = decodePacket(bytes);
      if (packet.kind === 'sessionless') reply(encodeSessionless(this.#answerSessionless(packet.message)));
      else if (packet.kind === 'rmcp-plus') this.#onRmcpPlus(packet, reply);
    } catch (error) {
      if (!(error instanceof IpmiDecodeError)) throw error;
      this.received.push(`unusable: ${error.message}`);
    }
  }

  #onRmcpPlus(packet: RmcpPlusPacket, reply: (packet: Uint8Array) => void): void {
    const { payload, payloadType } = packet;
    if (packet.sessionId !== 0) {
      this.#inSession(packet, reply);
      return;
    }
    // ipmitool requests the cipher suites this way.
    if (payloadType === PAYLOAD.ipmi) {
      reply(encodeHandshake(PAYLOAD.ipmi, this.#answerSessionless(payload)));
      return;
    }
    this.received.push(`payload ${payloadType.toString(16)}`);
    const tag = payload[0] ?? 0;
    const answer = (type: number, content: number | Uint8Array): void =>
      reply(
        encodeHandshake(
          type,
          typeof content === 'number'
            ? Uint8Array.of(tag, content, 0, 0, 0, 0, 0, 0)
            : concatBytes(
                Uint8Array.of(tag, 0, type === PAYLOAD.openSessionResponse ? payload[1] || HIGHEST : 0, 0),
                content,
              ),
        ),
      );
    const session = this.sessions.get(Buffer.from(payload).readUInt32LE(4));
    if (payloadType === PAYLOAD.openSessionRequest) answer(PAYLOAD.openSessionResponse, this.#openSession(payload));
    else if (payloadType === PAYLOAD.rakp1) {
      const find = (name: string) => this.machine.users.find((user) => user.name === name);
      answer(PAYLOAD.rakp2, session ? session.onRakp1(payload, find) : 0x02);
    } else if (payloadType === PAYLOAD.rakp3) {
      const content = session ? session.onRakp3(payload, this.#options.bmcKey ?? null) : 0x02;
      if (content !== null) answer(PAYLOAD.rakp4, content);
      else if (session) this.sessions.delete(session.bmcSessionId);
    }
  }

  #openSession(payload: Uint8Array): number | Uint8Array {
    const suite = suiteOf(payload[12] ?? 0, payload[20] ?? 0, payload[28] ?? 0);
    if (!suite || !(this.#options.suites ?? [3, 17]).includes(suite.id)) return 0x11;
    if (this.activeSessions >= (this.#options.slots ?? 8)) return 0x01;
    const session = new SimulatedSession(suite, Buffer.from(payload).readUInt32LE(4), this.#nextSession++);
    this.sessions.set(session.bmcSessionId, session);
    return concatBytes(
      uint32Bytes(session.consoleSessionId),
      uint32Bytes(session.bmcSessionId),
      encodeAlgorithms(this.#options.forcedAlgorithms ?? suite),
    );
  }

  #inSession(packet: RmcpPlusPacket, reply: (packet: Uint8Array) => void): void {
    const session = this.sessions.get(packet.sessionId);
    if (!session?.active) return;
    const payload = session.open(packet);
    if (packet.payloadType === PAYLOAD.sol) {
      for (const out of this.console.receive(payload)) reply(session.seal(PAYLOAD.sol, out));
      return;
    }
    const [netFn = 0, command = 0] = [(payload[1] ?? 0) >> 2, payload[5]];
    this.received.push(`command ${netFn.toString(16).padStart(2, '0')}${command.toString(16).padStart(2, '0')}`);
    const data = payload.subarray(6, -1);
    const answer = this.#inSessionAnswer(session, netFn, command, data);
    if (this.faults.unanswered === netFn * 256 + command) return;
    reply(session.seal(PAYLOAD.ipmi, this.#message(payload, answer)));
    if (netFn === 0x06 && command === 0x48 && answer.code === 0) {
      this.#sayOnConsole = (out) => reply(session.seal(PAYLOAD.sol, out));
      for (const out of this.console.greet()) this.#sayOnConsole(out);
    }
    if (netFn === 0x06 && command === 0x3c) this.sessions.delete(session.bmcSessionId);
  }

  #inSessionAnswer(session: SimulatedSession, netFn: number, command: number, data: Uint8Array): Answer {
    if (netFn === 0x06 && command === 0x3b) {
      const requested = data[0] ?? 0;
      const limit = Math.min(session.user?.privilege ?? 0, this.#options.privilegeCap ?? 4);
      if (requested > limit) return { code: 0x81, data: [] };
      session.privilege = requested || session.privilege;
      return { code: 0, data: [session.privilege] };
    }
    if (netFn === 0x06 && command === 0x3c) return { code: 0, data: [] };
    if (netFn === 0x06 && command === 0x38) return this.#capabilities(data);
    if (netFn === 0x06 && (command === 0x48 || command === 0x49)) return this.console.command(command);
    return answerCommand({ machine: this.machine, faults: this.faults, data }, netFn, command, session.privilege);
  }

  #answerSessionless(message: Uint8Array): Uint8Array {
    const data = message.subarray(6, -1);
    const number = ((message[1] ?? 0) >> 2) * 256 + (message[5] ?? 0);
    if (number === 0x0638) {
      this.capabilityRequests += 1;
      return this.#message(message, this.#capabilities(data));
    }
    if (number === 0x0654) return this.#message(message, this.#cipherSuites(data));
    if (number === 0x0637) {
      return this.#message(message, answerCommand({ machine: this.machine, faults: this.faults, data }, 0x06, 0x37, 0));
    }
    return this.#message(message, { code: 0xd4, data: [] });
  }

  #capabilities(data: Uint8Array): Answer {
    const wantsIpmi2 = ((data[0] ?? 0) & 0x80) !== 0 && this.#options.ipmi2 !== false;
    const keyBit = this.#options.bmcKey === undefined ? 0 : 0x20;
    return { code: 0, data: [1, wantsIpmi2 ? 0x80 : 0x04, 0x04 | keyBit, wantsIpmi2 ? 0x02 : 0x01, 0, 0, 0, 0] };
  }

  #cipherSuites(data: Uint8Array): Answer {
    const records = (this.#options.suites ?? [3, 17]).flatMap((id) =>
      id === 17 ? [0xc0, 17, 0x03, 0x44, 0x81] : [0xc0, 3, 0x01, 0x41, 0x81],
    );
    const piece = (data[2] ?? 0) & 0x3f;
    return { code: 0, data: [1, ...records.slice(piece * 16, piece * 16 + 16)] };
  }

  #message(request: Uint8Array, answer: Answer): Uint8Array {
    const head = Uint8Array.of(request[3] ?? 0, ((((request[1] ?? 0) >> 2) | 1) << 2) | ((request[4] ?? 0) & 3));
    const body = Uint8Array.of(0x20, request[4] ?? 0, request[5] ?? 0, answer.code, ...answer.data);
    const wrong = this.faults.wrongChecksums && this.activeSessions > 0 ? 0x55 : 0;
    return concatBytes(head, Uint8Array.of(checksum(head) ^ wrong), body, Uint8Array.of(checksum(body) ^ wrong));
  }
}
