// Names that operators choose, each with the rules of the places where it is used.

import { type Branded, type Parsed, parsed, shown, unparsable } from './parsed.ts';

/** One DNS label (RFC 1123 §2.1): it becomes a host name, a file name and a Nix attribute. */
export type Hostname = Branded<string, 'Hostname'>;
/** Dot-separated labels. */
export type DomainName = Branded<string, 'DomainName'>;
/** The name of a site, network, SKU, profile or cluster: safe in URLs, paths and file names. */
export type ObjectName = Branded<string, 'ObjectName'>;

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

export function parseHostname(text: string): Parsed<Hostname> {
  if (LABEL.test(text)) return parsed(text as Hostname);
  if (LABEL.test(text.toLowerCase())) return unparsable(`host names are lower case here: ${shown(text)}`);
  if (text.includes('.')) return unparsable(`a host name is one label, without its domain: ${shown(text)}`);
  return unparsable(`not a host name (letters, digits and inner hyphens, at most 63): ${shown(text)}`);
}

export function parseDomainName(text: string): Parsed<DomainName> {
  const labels = text.split('.');
  if (text.length <= 253 && labels.every((label) => LABEL.test(label))) return parsed(text as DomainName);
  return unparsable(`not a domain name: ${shown(text)}`);
}

export function parseObjectName(text: string): Parsed<ObjectName> {
  if (/^[a-z0-9]([a-z0-9._-]{0,62})$/.test(text) && !text.includes('..')) return parsed(text as ObjectName);
  return unparsable(
    `not a name (lower-case letters, digits, ".", "_", "-", at most 63, first a letter or digit): ${shown(text)}`,
  );
}
