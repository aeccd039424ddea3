// The schemas of what a service OS may send; documented in docs/service-os.md.

import { type Static, type TSchema, Type } from 'typebox';
import { jsonReader } from './json-reader.ts';

/** A value that cannot be determined is null or omitted. */
const maybe = <S extends TSchema>(schema: S) => Type.Optional(Type.Union([schema, Type.Null()]));

const Word = Type.String({ maxLength: 200 });
const Bytes = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Count = Type.Integer({ minimum: 0, maximum: 1_000_000 });
const Sequence = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
const StepName = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$', description: 'the name of a step' });

const Base64 = (most: number) =>
  Type.String({ maxLength: most, pattern: '^[A-Za-z0-9+/]*={0,2}$', description: 'base64' });

/** docs/service-os.md has the formats. */
const Tpm = Type.Object({
  ek: Type.Array(Type.Object({ public: Base64(2000), certificate: maybe(Base64(8000)) }), { minItems: 1, maxItems: 4 }),
  ak: Base64(2000),
  quote: maybe(
    Type.Object({
      message: Base64(4000),
      signature: Base64(2000),
      pcrs: Type.Record(Type.String({ pattern: '^[0-7]$' }), Type.String({ pattern: '^[0-9a-f]{64}$' })),
    }),
  ),
});

const Opening = Type.Object({
  mac: Word,
  uuid: maybe(Word),
  serial: maybe(Word),
  architecture: maybe(Word),
  firmware: maybe(Word),
  secure_boot: maybe(Type.Boolean()),
  /** Of all its network cards. */
  macs: maybe(Type.Array(Word, { maxItems: 256 })),
  /** Null: it has none. Left out: the image cannot use one. */
  tpm: maybe(Tpm),
  tpm_error: maybe(Type.String({ maxLength: 500 })),
  /** SHA-256 of the secret on its virtual medium. */
  media: maybe(Type.String({ pattern: '^[0-9a-f]{64}$', description: '64 hexadecimal digits' })),
  /** Random, made by the opener and kept secret: with it, a lost reply can be requested again. */
  nonce: maybe(Type.String({ pattern: '^[0-9a-f]{64}$', description: '256 random bits in hexadecimal digits' })),
});

const Step = Type.Object({
  sequence: Type.Optional(Sequence),
  step: StepName,
  status: Type.Enum(['started', 'progress', 'done', 'failed']),
  percent: maybe(Type.Number({ minimum: 0, maximum: 100 })),
  message: maybe(Type.String()),
  /** Read or written so far by this step. */
  bytes: maybe(Bytes),
  log: maybe(Type.String()),
  /** What samples of erased disks hold, by their place in the order. */
  samples: maybe(
    Type.Array(
      Type.Object({
        disk: Type.Integer({ minimum: 0, maximum: 511 }),
        state: Type.Enum(['empty', 'not-empty', 'unreadable', 'missing', 'out-of-time']),
        bytes: Bytes,
        offset: maybe(Bytes),
      }),
      { maxItems: 512 },
    ),
  ),
});

const SessionOutcome = Type.Object({
  sequence: Type.Optional(Sequence),
  ok: Type.Boolean(),
  step: maybe(StepName),
  reason: maybe(Type.String()),
  /** The disks that an erasure has erased and read back. */
  erased: maybe(
    Type.Array(Type.Object({ name: Word, serial: maybe(Word), bytes: Bytes, method: Word }), { maxItems: 512 }),
  ),
});

const Disk = Type.Object({
  name: Word,
  by_id: Type.Optional(Type.Array(Word, { maxItems: 32 })),
  serial: maybe(Word),
  model: maybe(Word),
  bytes: Bytes,
  rotational: maybe(Type.Boolean()),
  health: maybe(Word),
  read_only: maybe(Type.Boolean()),
  removable: maybe(Type.Boolean()),
});

const Nic = Type.Object({
  name: Word,
  mac: maybe(Word),
  driver: maybe(Word),
  link: maybe(Type.Boolean()),
  speed_mbps: maybe(Count),
  /** From an LLDP frame. */
  neighbour: maybe(
    Type.Object({ chassis: maybe(Word), system: maybe(Word), port: maybe(Word), port_description: maybe(Word) }),
  ),
});

export const Facts = Type.Object({
  sequence: Type.Optional(Sequence),
  system: maybe(
    Type.Object({ manufacturer: maybe(Word), product: maybe(Word), serial: maybe(Word), uuid: maybe(Word) }),
  ),
  firmware: maybe(
    Type.Object({
      kind: maybe(Word),
      vendor: maybe(Word),
      version: maybe(Word),
      secure_boot: maybe(Type.Boolean()),
      tpm: maybe(Word),
    }),
  ),
  cpu: maybe(
    Type.Object({
      model: maybe(Word),
      architecture: maybe(Word),
      sockets: maybe(Count),
      cores: maybe(Count),
      threads: maybe(Count),
    }),
  ),
  memory: maybe(Type.Object({ bytes: maybe(Bytes) })),
  disks: Type.Array(Disk, { maxItems: 512 }),
  nics: Type.Array(Nic, { maxItems: 256 }),
  bmc: maybe(Type.Object({ address: maybe(Word), mac: maybe(Word), vendor: maybe(Word) })),
  /** From an installer that accepts the appliance's login: public key lines. */
  ssh_host_keys: maybe(Type.Array(Type.String({ maxLength: 1000 }), { maxItems: 8 })),
});

export type OpeningBody = Static<typeof Opening>;
export type TpmBody = Static<typeof Tpm>;
export type StepBody = Static<typeof Step>;
export type OutcomeBody = Static<typeof SessionOutcome>;
export type MachineFactsBody = Static<typeof Facts>;

export const readOpening = jsonReader(Opening);
export const readStep = jsonReader(Step);
export const readOutcome = jsonReader(SessionOutcome);
export const readFacts = jsonReader(Facts);

const LONGEST_MESSAGE = 500;
const LONGEST_LOG = 4000;

/** Truncated, with a note of how much is missing. */
export const boundedMessage = (text: string | null | undefined): string | null => {
  if (!text) return null;
  return text.length <= LONGEST_MESSAGE
    ? text
    : `${text.slice(0, LONGEST_MESSAGE)}… (${text.length - LONGEST_MESSAGE} more characters)`;
};

/** Keeps the end of a log. */
export const boundedLog = (text: string | null | undefined): string | null => {
  if (!text) return null;
  return text.length <= LONGEST_LOG
    ? text
    : `(${text.length - LONGEST_LOG} characters before this were left out)\n${text.slice(-LONGEST_LOG)}`;
};
