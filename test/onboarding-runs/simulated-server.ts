// A simulated server: a BMC that speaks IPMI, and a machine that boots when the BMC says so, speaks the protocol of the service OS, and enrolls
// when it is installed. It goes on asking while the appliance is down, like firmware and scripts do.

import { createSign, generateKeyPairSync } from 'node:crypto';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { encodeName } from '../../appliance/codecs/x509/certificate.ts';
import {
  bitString,
  contextTag,
  element,
  objectIdentifier,
  sequence,
  unsignedInteger,
} from '../../appliance/codecs/x509/der.ts';
import { OID } from '../../appliance/codecs/x509/object-identifiers.ts';
import { fruWithSerial } from '../bmc/ipmi/simulator/machine.ts';
import { SimulatedBmc } from '../bmc/ipmi/simulator/simulated-bmc.ts';
import { type Answer, FakeServiceOs } from '../provisioning/sessions/fake-service-os.ts';

export interface ServerPlace {
  readonly bmcAddress: string;
  readonly address: string;
  readonly mac: string;
  readonly serial: string;
}

/** The n-th of many, each with its own loopback addresses; `network`: the second number of the addresses. */
export function placeOf(n: number, network = 1): ServerPlace {
  const [high, low] = [Math.floor(n / 250), 1 + (n % 250)];
  const hex = (value: number): string => value.toString(16).padStart(2, '0');
  return {
    bmcAddress: `127.${network}.${high}.${low}`,
    address: `127.${network + 1}.${high}.${low}`,
    mac: `52:54:01:00:${hex(high)}:${hex(low)}`,
    serial: `SIM-${String(n).padStart(5, '0')}`,
  };
}

/** How an installation ends; the first entry is for the first one, and so on. Left out: it succeeds. */
export interface InstallFailure {
  readonly step: string;
  readonly reason: string;
}

const RETRY_MS = 500;
/** The boot flags of IPMI: bits 5 to 2 of the second byte. */
const NETWORK = 1;

export class SimulatedServer {
  readonly place: ServerPlace;
  readonly bmc: SimulatedBmc;
  /** What the machine really did, in order. */
  readonly did: string[] = [];
  readonly failures: (InstallFailure | null)[];
  readonly #boot: string;
  /** Counts starts and power cuts: whatever an earlier start began ends. */
  #life = 0;
  #enrolled = false;
  #firstBoot: FirstBoot | null = null;

  private constructor(
    place: ServerPlace,
    bmc: SimulatedBmc,
    boot: string,
    failures: readonly (InstallFailure | null)[],
  ) {
    this.place = place;
    this.bmc = bmc;
    this.#boot = boot;
    this.failures = [...failures];
    bmc.machine.onStart = (flags) => void this.#start(flags);
  }

  /** `boot`: the URL of the boot server. */
  static async start(
    place: ServerPlace,
    boot: string,
    failures: readonly (InstallFailure | null)[] = [],
  ): Promise<SimulatedServer> {
    const bmc = await SimulatedBmc.start({ address: place.bmcAddress, port: 623, suites: [17] });
    bmc.machine.fru = fruWithSerial(place.serial);
    return new SimulatedServer(place, bmc, boot, failures);
  }

  async stop(): Promise<void> {
    this.#life += 1;
    await this.bmc.stop();
  }

  count(what: string): number {
    return this.did.filter((one) => one === what).length;
  }

  async #start(flags: readonly number[]): Promise<void> {
    this.#life += 1;
    const life = this.#life;
    const isNetwork = (((flags[1] ?? 0) >> 2) & 0x0f) === NETWORK && ((flags[0] ?? 0) & 0x80) !== 0;
    try {
      if (isNetwork) await this.#bootFromNetwork(life);
      else await this.#bootFromDisk(life);
    } catch (error) {
      if (!(error instanceof PoweredOff)) this.did.push(`error: ${String(error)}`);
    }
  }

  /** Repeated while the appliance does not answer; ends with the power. */
  async #asked(life: number, ask: () => Promise<Answer>): Promise<Answer> {
    for (;;) {
      if (life !== this.#life || this.bmc.machine.power === 'off') throw new PoweredOff();
      try {
        const answer = await ask();
        if (answer.status !== 429 && answer.status < 500) return answer;
      } catch (error) {
        if (!isOutage(error)) throw error;
      }
      await pause(RETRY_MS);
    }
  }

  async #bootFromNetwork(life: number): Promise<void> {
    const system = new FakeServiceOs(this.#boot, this.place);
    const asked = (ask: () => Promise<Answer>): Promise<Answer> => this.#asked(life, ask);
    const { body: script } = await asked(async () => ({ status: 200, body: await system.script(), json: null }));
    this.did.push('boot');
    if (FakeServiceOs.ticketIn(script) === null) return;
    // The service OS has its ticket: it asks with it again, and does not boot again.
    const opened = await asked(() => system.openFrom(script));
    if (opened.status !== 201) {
      this.did.push(`error: session ${opened.status} ${opened.body.slice(0, 200)}`);
      return;
    }
    const { json } = await asked(() => system.order());
    const mode = (json as { mode?: string } | null)?.mode ?? 'none';
    if (mode !== 'install') await asked(() => system.facts({ system: { ...SYSTEM, serial: this.place.serial } }));
    const failure = mode === 'install' ? (this.failures.shift() ?? null) : null;
    if (mode === 'install' && failure === null) {
      await asked(() => system.step('write-image', 'done'));
      const { body } = await asked(() => system.file('user-data'));
      this.#firstBoot = firstBootIn(body);
    }
    const outcome = await asked(() => system.outcome(failure === null, failure ?? {}));
    this.did.push(failure === null ? mode : `failed ${failure.step}`);
    if (mode !== 'install' || failure !== null || outcome.status !== 200) return;
    await this.#bootFromDisk(life);
  }

  async #bootFromDisk(life: number): Promise<void> {
    const first = this.#firstBoot;
    if (first === null || this.#enrolled) return;
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const form = {
      node_id: first.nodeId,
      token: first.token,
      certificate_request: newRequest(first.nodeId, privateKey, publicKey),
    };
    const answer = await this.#asked(life, () => post(first.apiUrl, '/node/v1/enroll', this.place.address, form));
    this.did.push(answer.status === 200 ? 'enroll' : `enroll refused ${answer.status}`);
    if (answer.status !== 200) return;
    this.#enrolled = true;
    const cert = (answer.json as { certificate: string }).certificate;
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    await this.#asked(life, () =>
      post(first.apiUrl, '/node/v1/heartbeat', this.place.address, { agent: 'simulated' }, { cert, key }),
    );
  }
}

class PoweredOff extends Error {}

const OUTAGES: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EADDRNOTAVAIL']);
const isOutage = (error: unknown): boolean => {
  const { code = '', message = '' } = error as NodeJS.ErrnoException;
  return OUTAGES.has(code) || /socket hang up|aborted/.test(message);
};

const SYSTEM = { manufacturer: 'Acme', product: 'Box', uuid: null };

interface FirstBoot {
  readonly nodeId: string;
  readonly token: string;
  readonly apiUrl: string;
}

/** From the bundle in the user-data, whose quotes may be escaped. */
function firstBootIn(userData: string): FirstBoot {
  const plain = decoded(userData);
  const value = (name: string): string => {
    const found = new RegExp(`COLDIRON_${name}=\\\\*"([^"\\\\]+)`).exec(plain)?.[1];
    if (found === undefined) throw new Error(`the user-data has no ${name}`);
    return found;
  };
  return { nodeId: value('NODE_ID'), token: value('ENROLLMENT_TOKEN'), apiUrl: value('API_URL') };
}

/** The scripts in it may be base64. */
const decoded = (userData: string): string =>
  userData.includes('ENROLLMENT_TOKEN')
    ? userData
    : userData
        .split(/\s+/)
        .filter((word) => /^[A-Za-z0-9+/]{200,}={0,2}$/.test(word))
        .map((word) => Buffer.from(word, 'base64').toString('latin1'))
        .join('\n');

async function post(
  origin: string,
  path: string,
  localAddress: string,
  form: Readonly<Record<string, string>>,
  identity: { readonly cert: string; readonly key: string } | null = null,
): Promise<Answer> {
  const payload = new URLSearchParams(form).toString();
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const outgoing = request(new URL(path, origin), {
    ...{ method: 'POST', localAddress, agent: false, rejectUnauthorized: false, ...identity },
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': Buffer.byteLength(payload),
      accept: 'application/json',
    },
  });
  outgoing.on('response', (answer) => {
    text(answer).then((body) => {
      const isJson = body.startsWith('{');
      resolve({ status: answer.statusCode ?? 0, body, json: isJson ? JSON.parse(body) : null });
    }, reject);
  });
  outgoing.on('error', reject);
  outgoing.end(payload);
  return promise;
}

/** RFC 2986: signed with SHA-256. */
function newRequest(
  commonName: string,
  privateKey: ReturnType<typeof generateKeyPairSync>['privateKey'],
  publicKey: ReturnType<typeof generateKeyPairSync>['publicKey'],
): string {
  const key = Buffer.from(publicKey.export({ type: 'spki', format: 'der' }));
  const info = sequence(
    unsignedInteger(Uint8Array.of(0)),
    encodeName({ organization: 'simulated', commonName }),
    key,
    element(contextTag(0, true)),
  );
  const signature = createSign('sha256').update(info).sign(privateKey);
  const der = sequence(info, sequence(objectIdentifier(OID.ecdsaWithSha256)), bitString(signature));
  const lines = Buffer.from(der).toString('base64').replace(/.{64}/g, '$&\n');
  return `-----BEGIN CERTIFICATE REQUEST-----\n${lines}\n-----END CERTIFICATE REQUEST-----\n`;
}
