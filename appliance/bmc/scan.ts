// Scans for BMCs in the networks that the site configures for it. It probes every address once, rate-limited so that it does not
// look like an attack, and never logs in.

import { ColdironError } from '../domain/errors.ts';
import { SECOND } from '../domain/instant.ts';
import {
  contains,
  type Ipv4,
  ipv4FromNumber,
  ipv4ToNumber,
  isHostAddress,
  type Prefix,
  prefixText,
} from '../domain/ipv4.ts';
import { type BmcClock, pause } from './clock.ts';
import { type IpmiPresence, ipmiProber } from './ipmi/ipmi-probe.ts';
import { probeRedfish, type RedfishPresence } from './redfish-probe.ts';

export interface FoundBmc {
  readonly address: Ipv4;
  readonly ipmi: IpmiPresence | null;
  readonly redfish: RedfishPresence | null;
}

export interface ScanProgress {
  readonly probed: number;
  readonly of: number;
  /** The result of the last probed address; null: no BMC. */
  readonly found: FoundBmc | null;
}

export interface ScanSettings {
  /** The networks that may be scanned. */
  readonly allowed: readonly Prefix[];
  readonly signal?: AbortSignal;
  readonly progress?: (progress: ScanProgress) => void;
  readonly atOnce?: number;
  readonly perSecond?: number;
}

export interface ScanPorts {
  readonly ipmi: number;
  readonly redfish: number;
}

/** A /20. */
const MOST_ADDRESSES = 4096;
const AT_ONCE = 64;
const PER_SECOND = 100;
const PORTS: ScanPorts = { ipmi: 623, redfish: 443 };
const IPMI_TIMINGS = { tries: 3, wait: SECOND };

/** Rejects with `invalid_request` for a network that may not be scanned, and with the signal's reason when it is aborted. */
export async function scanForBmcs(
  prefixes: readonly Prefix[],
  settings: ScanSettings,
  clock: BmcClock,
  ports: ScanPorts = PORTS,
): Promise<FoundBmc[]> {
  const addresses = addressesToProbe(prefixes, settings.allowed);
  const signal = settings.signal ?? new AbortController().signal;
  signal.throwIfAborted();
  const prober = await ipmiProber(ports.ipmi, clock, IPMI_TIMINGS);
  try {
    return await sweep(addresses, { ...settings, signal }, clock, async (address) => {
      const [ipmi, redfish] = await Promise.all([prober.probe(address), probeRedfish(address, ports.redfish, signal)]);
      return ipmi || redfish ? { address, ipmi, redfish } : null;
    });
  } finally {
    prober.close();
  }
}

/** Every host address once, ascending. */
export function addressesToProbe(prefixes: readonly Prefix[], allowed: readonly Prefix[]): Ipv4[] {
  const outside = prefixes.filter((prefix) => !allowed.some((within) => isInside(prefix, within)));
  if (outside.length > 0) {
    const hint =
      allowed.length === 0
        ? 'the site configures no network for the scan'
        : `allowed are ${allowed.map(prefixText).join(', ')}`;
    throw refused(`these networks may not be scanned for BMCs: ${outside.map(prefixText).join(', ')}; ${hint}`);
  }
  const size = prefixes.reduce((sum, prefix) => sum + 2 ** (32 - prefix.length), 0);
  if (size > MOST_ADDRESSES) {
    throw refused(`${size} addresses exceed the limit of ${MOST_ADDRESSES} (a /20); scan them in parts`);
  }
  const numbers = new Set<number>();
  for (const prefix of prefixes) {
    const first = ipv4ToNumber(prefix.network);
    for (let number = first; number < first + 2 ** (32 - prefix.length); number++) {
      if (isHostAddress(prefix, ipv4FromNumber(number))) numbers.add(number);
    }
  }
  return [...numbers].sort((a, b) => a - b).map(ipv4FromNumber);
}

const refused = (message: string): ColdironError => new ColdironError('invalid_request', message);

const isInside = (prefix: Prefix, within: Prefix): boolean =>
  prefix.length >= within.length && contains(within, prefix.network);

type Sweep = Omit<ScanSettings, 'allowed'> & { readonly signal: AbortSignal };

/** Probes `atOnce` addresses concurrently, and starts at most `perSecond` a second. */
async function sweep(
  addresses: readonly Ipv4[],
  { signal, progress, atOnce = AT_ONCE, perSecond = PER_SECOND }: Sweep,
  clock: BmcClock,
  probe: (address: Ipv4) => Promise<FoundBmc | null>,
): Promise<FoundBmc[]> {
  const found: FoundBmc[] = [];
  let next = 0;
  let probed = 0;
  let mayBegin = clock.now();
  const worker = async (): Promise<void> => {
    for (;;) {
      const address = addresses[next++];
      if (address === undefined) return;
      mayBegin = Math.max(mayBegin + SECOND / perSecond, clock.now());
      await orAborted(pause(clock, mayBegin - clock.now()), signal);
      const bmc = await orAborted(probe(address), signal);
      if (bmc) found.push(bmc);
      probed += 1;
      progress?.({ probed, of: addresses.length, found: bmc });
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, addresses.length) }, worker));
  return found.sort((a, b) => ipv4ToNumber(a.address) - ipv4ToNumber(b.address));
}

/** The abandoned work ends by itself within seconds. */
async function orAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort);
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
