// The hardware facts of a machine, in a few lines.

import { bytesInWords } from '../domain/byte-size.ts';
import { cell, type Output, styled } from './terminal.ts';

type Maybe<T> = T | null | undefined;

export interface Found {
  readonly at: string;
  readonly facts: {
    readonly system?: Maybe<{ manufacturer?: Maybe<string>; product?: Maybe<string>; serial?: Maybe<string> }>;
    readonly firmware?: Maybe<{ kind?: Maybe<string>; version?: Maybe<string>; secure_boot?: Maybe<boolean> }>;
    readonly cpu?: Maybe<{ model?: Maybe<string>; threads?: Maybe<number> }>;
    readonly memory?: Maybe<{ bytes?: Maybe<number> }>;
    readonly disks: readonly { name: string; model?: Maybe<string>; serial?: Maybe<string>; bytes: number }[];
    readonly nics: readonly {
      name: string;
      mac?: Maybe<string>;
      link?: Maybe<boolean>;
      neighbour?: Maybe<{ system?: Maybe<string>; port?: Maybe<string> }>;
    }[];
  };
}

export function factsTable(output: Output, { at, facts }: Found): string {
  const { system, firmware, cpu, memory, disks, nics } = facts;
  const secureBoot = firmware?.secure_boot ? ', Secure Boot on' : '';
  const rows: (readonly [label: string, text: string])[] = [
    ['found at', at],
    ['machine', joined([system?.manufacturer, system?.product, system?.serial && `serial ${system.serial}`])],
    ['firmware', `${joined([firmware?.kind, firmware?.version])}${secureBoot}`],
    ['cpu', joined([cpu?.model, cpu?.threads && `${cpu.threads} threads`])],
    ['memory', memory?.bytes ? bytesInWords(memory.bytes, 'binary') : '-'],
    ...disks.map(({ name, model, serial, bytes }): [string, string] => [
      name,
      joined([model, serial && `serial ${serial}`, bytesInWords(bytes)]),
    ]),
    ...nics.map(({ name, mac, link, neighbour }): [string, string] => [
      name,
      joined([
        mac,
        link === false ? 'no link' : null,
        neighbour?.system && `at ${joined([neighbour.system, neighbour.port])}`,
      ]),
    ]),
  ];
  return rows.map(([label, text]) => `${styled(output, 'grey', cell(label).padEnd(12))}${cell(text)}\n`).join('');
}

const joined = (parts: readonly (Maybe<string | number> | '')[]): string => parts.filter(Boolean).join(', ') || '-';
