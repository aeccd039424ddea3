// A command to a BMC as a value: its request bytes and its reply decoder.

import { ByteReader } from '../bytes.ts';

/** IPMI v2.0 §5.1, table 5-1. */
export const NET_FN = { chassis: 0x00, sensor: 0x04, app: 0x06, storage: 0x0a, transport: 0x0c } as const;

export interface IpmiCommand<Reply> {
  /** The name in the specification; for messages. */
  readonly name: string;
  readonly netFn: number;
  readonly command: number;
  readonly data: Uint8Array;
  /** False: repeating the command has a further effect, so it must not be retransmitted when the reply is lost. */
  readonly repeatable: boolean;
  /** What completion codes 80 to BE mean for this command. */
  readonly codes: Readonly<Record<number, string>>;
  readonly decode: (data: Uint8Array) => Reply;
}

interface CommandSpec<Reply> {
  readonly name: string;
  readonly netFn: number;
  readonly command: number;
  readonly data?: Uint8Array | readonly number[];
  readonly repeatable?: boolean;
  readonly codes?: Readonly<Record<number, string>>;
  readonly decode: (reader: ByteReader) => Reply;
}

export const ipmiCommand = <Reply>(spec: CommandSpec<Reply>): IpmiCommand<Reply> => ({
  name: spec.name,
  netFn: spec.netFn,
  command: spec.command,
  data: Uint8Array.from(spec.data ?? []),
  repeatable: spec.repeatable ?? true,
  codes: spec.codes ?? {},
  decode: (data) => spec.decode(new ByteReader(data)),
});

/** For commands whose reply is only the completion code. */
export const nothing = (): void => undefined;
