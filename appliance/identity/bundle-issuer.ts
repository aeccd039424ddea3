// Issues bootstrap bundles. The token is generated for one bundle and its text is not stored, so a bundle can be issued only
// once. A second request is refused and names the recipient of the first; a reissue revokes the first one.

import { ColdironError } from '../domain/errors.ts';
import type { Origin } from '../domain/event.ts';
import { type Instant, instantText } from '../domain/instant.ts';
import type { Machine, MachineId } from '../domain/machine.ts';
import type { Parsed } from '../domain/parsed.ts';
import { refused } from '../machines/commands/decision.ts';
import { type Decide, type MachineCommands, refusalError } from '../machines/execute.ts';
import { type AgentLayout, type AgentPackage, type BootstrapBundle, secretText } from '../render/bundle/bundle.ts';
import { type BundleFiles, renderBundle } from '../render/bundle/install-script.ts';
import type { Templates } from '../render/templates.ts';
import type { EnrollmentToken, NewEnrollmentToken } from '../store/enrollment-store.ts';
import type { Store } from '../store/store.ts';
import type { ApiProbe } from './api-probe.ts';
import type { Authority } from './authority.ts';
import { bundleIssued, openToken, type RecoveryForm } from './enrollment-commands.ts';
import type { EnrollmentSettings } from './settings.ts';
import type { TaskSigner } from './task-signing.ts';
import { newEnrollmentToken, parseEnrollmentToken, type TokenStatus, tokenStatus } from './token-text.ts';
import { agentDigest, validateBundle } from './validate-bundle.ts';

export interface BundleSettings {
  /** The URL at which this node reaches the node API. */
  readonly apiUrlOf: (machine: Machine) => Parsed<string>;
  readonly plainHttp: 'never' | 'local';
  readonly layout: AgentLayout;
  /** The agent's source, embedded in the installer. */
  readonly agentText: string;
  /** Null: the package is the embedded agent, with its digest. */
  readonly package: AgentPackage | null;
}

export interface BundleIssuerDeps {
  readonly store: Pick<Store, 'enrollmentToken' | 'enrollmentTokensOf'>;
  readonly commands: Pick<MachineCommands, 'execute'>;
  readonly authority: Authority;
  readonly taskSigner: TaskSigner;
  readonly templates: Templates;
  readonly probe: ApiProbe;
  readonly now: () => Instant;
  readonly settings: EnrollmentSettings;
  readonly bundle: BundleSettings;
}

export interface BundleRequest {
  readonly machine: Machine;
  /** `manual`: the operator gets the files. `maas`: the caller puts the script into the first-boot payload. */
  readonly delivery: 'manual' | 'maas';
  /** Revokes the token of the previous bundle, even if it is still valid. */
  readonly reissue: boolean;
  /** Starts the enrollment of the machine in the same commit as the token. */
  readonly startsEnrollment?: boolean;
  /** The form in which the operator gets it to recover a node; null: an ordinary bundle. */
  readonly recovery?: RecoveryForm | null;
  /** How long that enrollment may take: another system installs the machine first. */
  readonly minutes?: number;
  readonly origin: Origin;
}

export interface IssuedBundle {
  readonly bundle: BootstrapBundle;
  readonly files: BundleFiles;
  readonly replaced: EnrollmentToken | null;
}

export interface BundleIssuer {
  /**
   * Rejects with `invalid_bundle` and every problem, or with `conflict`, which names the recipient of the last bundle; nothing
   * is issued then. When it resolves, the token is stored, bound to the machine, and audited.
   */
  issue(request: BundleRequest): Promise<IssuedBundle>;
  /** Lists the problems that a bundle would have, including an unreachable endpoint. Issues nothing. */
  check(machine: Machine): Promise<readonly string[]>;
  /** The current status of the token in an issued bundle. */
  tokenStatus(bundle: Pick<BootstrapBundle, 'enrollmentToken' | 'nodeId'>): Promise<TokenStatus>;
}

export function createBundleIssuer(deps: BundleIssuerDeps): BundleIssuer {
  const { store, commands, templates, now, settings, bundle: bundleSettings } = deps;

  /** A bundle and its token, not stored yet. */
  const draft = async ({ machine, delivery, origin }: Omit<BundleRequest, 'reissue'>) => {
    const { text, ...parts } = newEnrollmentToken();
    const at = now();
    const token: NewEnrollmentToken = {
      ...parts,
      machine: machine.id,
      kind: 'enrollment',
      delivery,
      actor: origin.actor,
      createdAt: at,
      expiresAt: at + settings.tokenLifetime,
      certificate: null,
    };
    const bundle: BootstrapBundle = {
      id: token.id,
      nodeId: machine.id,
      hostname: machine.spec.hostname,
      enrollmentToken: text,
      tokenExpiresAt: token.expiresAt,
      ...(await bundleContext(deps, machine)),
    };
    const problems = await validateBundle(bundle, {
      now: at,
      probe: deps.probe,
      plainHttp: bundleSettings.plainHttp,
      agentText: bundleSettings.agentText,
      tokenStatus: async (shown, node) => draftStatus(token, secretText(shown), node, at),
    });
    return { token, bundle, problems };
  };

  return {
    issue: async (request) => {
      const { machine, reissue, startsEnrollment = false, recovery = null, minutes } = request;
      const { token, bundle, problems } = await draft(request);
      if (problems.length > 0) {
        throw new ColdironError('invalid_bundle', `the bundle of ${machine.spec.hostname} has problems`, problems);
      }
      // Rendered before anything is written: a template error must not revoke the last bundle.
      const files = renderBundle(bundle, bundleSettings.agentText, templates);
      let replaced: EnrollmentToken | null = null;
      const input = { token: token.id, reissue };
      // The secret cannot be returned twice, so a repeated request is a new command.
      const origin = { ...request.origin, commandId: undefined };
      const command = { machine: machine.id, name: 'issue-bundle', input, origin };
      const decide: Decide = async (current, context) => {
        replaced = openToken(await store.enrollmentTokensOf(machine.id));
        if (replaced !== null && replaced.expiresAt > token.createdAt && !reissue) {
          const { code, message } = alreadyIssued(machine, replaced);
          return refused(code, message);
        }
        return bundleIssued(current, { token, replaced, origin, startsEnrollment, recovery, minutes }, context);
      };
      const executed = await commands.execute(command, decide);
      if (executed.outcome === 'refused') throw refusalError(executed.refusal);
      if (executed.outcome === 'lost')
        throw new ColdironError('conflict', `${machine.spec.hostname}: ${executed.by.reason}`);
      return { bundle, files, replaced };
    },
    check: async (machine) =>
      (await draft({ machine, delivery: 'maas', origin: { actor: 'appliance', correlationId: null } })).problems,
    tokenStatus: async ({ enrollmentToken, nodeId }) => {
      const parts = parseEnrollmentToken(secretText(enrollmentToken));
      if (!parts.ok) return 'unknown';
      return tokenStatus(await store.enrollmentToken(parts.value.id), parts.value, nodeId, now());
    },
  };
}

async function bundleContext({ authority, taskSigner, bundle }: BundleIssuerDeps, machine: Machine) {
  const apiUrl = bundle.apiUrlOf(machine);
  if (!apiUrl.ok) throw new ColdironError('service_unavailable', apiUrl.reason);
  const trust = await authority.trust();
  const trusted = { pem: trust.pem, fingerprint: trust.shown };
  const digest = agentDigest(bundle.agentText);
  return {
    apiUrl: apiUrl.value,
    taskSigningKeys: await taskSigner.verifiers(),
    ca: trusted,
    nodeCertificateCa: trusted,
    layout: bundle.layout,
    package: bundle.package ?? {
      ociRef: `coldiron/node-agent:${digest.replace(':', '-')}`,
      digest,
      pull: { mode: 'embedded' },
    },
  } as const;
}

function draftStatus(token: NewEnrollmentToken, text: string, node: MachineId, now: Instant): TokenStatus {
  const parts = parseEnrollmentToken(text);
  if (!parts.ok) return 'unknown';
  const held = { token: { ...token, consumedAt: null, revokedAt: null }, secretHash: token.secretHash };
  return tokenStatus({ ...held, machineRemoved: false }, parts.value, node, now);
}

function alreadyIssued({ spec }: Machine, open: EnrollmentToken): ColdironError {
  const { hostname } = spec;
  if (open.kind === 'recovery') {
    return new ColdironError('conflict', `${hostname} is already enrolled: reissue the bundle to enroll it again`);
  }
  return new ColdironError(
    'conflict',
    `the bundle of ${hostname} was issued to ${open.actor} at ${instantText(open.createdAt)} and is valid until ` +
      `${instantText(open.expiresAt)}: reissue it if it is lost`,
  );
}
