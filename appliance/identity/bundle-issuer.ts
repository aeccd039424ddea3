// Hands out bootstrap bundles. The token in one is made at that moment and exists nowhere else, so a bundle can be handed over
// once; whoever asks again is told who has it, and a reissue makes the first one worthless.

import { ColdironError } from '../domain/errors.ts';
import type { Origin } from '../domain/event.ts';
import { type Instant, instantText } from '../domain/instant.ts';
import type { Machine, MachineId } from '../domain/machine.ts';
import type { Parsed } from '../domain/parsed.ts';
import { refused } from '../machines/commands/decision.ts';
import { type Decide, type MachineCommands, refusalError } from '../machines/execute.ts';
import { type AgentLayout, type AgentPackage, type BootstrapBundle, secretText } from '../render/bundle/bundle.ts';
import { renderBundle } from '../render/bundle/install-script.ts';
import type { RenderedFile } from '../render/rendered-file.ts';
import type { Templates } from '../render/templates.ts';
import type { EnrollmentToken, NewEnrollmentToken } from '../store/enrollment-store.ts';
import type { Store } from '../store/store.ts';
import type { ApiProbe } from './api-probe.ts';
import type { Authority } from './authority.ts';
import { bundleIssued, openToken } from './enrollment-commands.ts';
import type { EnrollmentSettings } from './settings.ts';
import type { TaskSigner } from './task-signing.ts';
import { newEnrollmentToken, parseEnrollmentToken, type TokenStanding, tokenStanding } from './token-text.ts';
import { agentDigest, validateBundle } from './validate-bundle.ts';

export interface BundleSettings {
  /** Where this node reaches the node API. */
  readonly apiUrlOf: (machine: Machine) => Parsed<string>;
  readonly plainHttp: 'never' | 'local';
  readonly layout: AgentLayout;
  /** The agent itself: it stands in the installer. */
  readonly agentText: string;
  /** Null: what is installed is the agent in the installer, and its digest is the package's. */
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

export interface HandOver {
  readonly machine: Machine;
  /** `manual`: the caller is handed files for the node. `maas`: the caller puts the script into the first-boot payload. */
  readonly delivery: 'manual' | 'maas';
  /** Take back what was handed over before, whatever it is still worth. */
  readonly reissue: boolean;
  /** The machine waits for its node from then on: committed with the token. */
  readonly startsEnrollment?: boolean;
  readonly onBehalf: Origin;
}

export interface HandedOver {
  readonly bundle: BootstrapBundle;
  readonly files: Readonly<Record<'json' | 'environment' | 'script', RenderedFile>>;
  readonly replaced: EnrollmentToken | null;
}

export interface BundleIssuer {
  /**
   * `invalid_bundle` lists every problem, and nothing was issued. `conflict` says who has the last one. When it resolves, the
   * token is in the store, bound to the machine, and the hand-over is in the audit.
   */
  handOver(request: HandOver): Promise<HandedOver>;
  /** Would a bundle be good, and its endpoint there? Without issuing anything. */
  check(machine: Machine): Promise<readonly string[]>;
  /** What the token of a bundle that was handed over is worth now: stored and bound as the bundle says, or why not. */
  standing(bundle: Pick<BootstrapBundle, 'enrollmentToken' | 'nodeId'>): Promise<TokenStanding>;
}

export function createBundleDesk(dependencies: BundleIssuerDeps): BundleIssuer {
  const { store, commands, templates, now, settings, bundle: bundleSettings } = dependencies;

  /** A token that is in no store yet: good by its making, for this machine. */
  const draft = async ({ machine, delivery, onBehalf }: Omit<HandOver, 'reissue'>) => {
    const { text, ...parts } = newEnrollmentToken();
    const at = now();
    const token: NewEnrollmentToken = {
      ...parts,
      machine: machine.id,
      kind: 'enrollment',
      delivery,
      actor: onBehalf.actor,
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
      ...(await surroundings(dependencies, machine)),
    };
    const problems = await validateBundle(bundle, {
      now: at,
      probe: dependencies.probe,
      plainHttp: bundleSettings.plainHttp,
      agentText: bundleSettings.agentText,
      tokenStanding: async (shown, node) => draftStanding(token, secretText(shown), node, at),
    });
    return { token, bundle, problems };
  };

  return {
    handOver: async (request) => {
      const { machine, reissue, onBehalf, startsEnrollment = false } = request;
      const { token, bundle, problems } = await draft(request);
      if (problems.length > 0) {
        throw new ColdironError('invalid_bundle', `the bundle of ${machine.spec.hostname} has problems`, problems);
      }
      // Rendered before anything is written: a template that fails leaves the last bundle as good as it was.
      const files = renderBundle(bundle, bundleSettings.agentText, templates);
      let replaced: EnrollmentToken | null = null;
      const input = { token: token.id, reissue };
      // A repeated request cannot be given the same secret again, so it is a new command.
      const origin = { ...onBehalf, commandId: undefined };
      const command = { machine: machine.id, name: 'issue-bundle', input, origin };
      const decide: Decide = async (current, context) => {
        replaced = openToken(await store.enrollmentTokensOf(machine.id));
        if (replaced !== null && replaced.expiresAt > token.createdAt && !reissue) {
          const { code, message } = alreadyHandedOver(machine, replaced);
          return refused(code, message);
        }
        return bundleIssued(current, { token, replaced, origin, startsEnrollment }, context);
      };
      const executed = await commands.execute(command, decide);
      if (executed.outcome === 'refused') throw refusalError(executed.refusal);
      if (executed.outcome === 'lost')
        throw new ColdironError('conflict', `${machine.spec.hostname}: ${executed.by.reason}`);
      return { bundle, files, replaced };
    },
    check: async (machine) =>
      (await draft({ machine, delivery: 'maas', onBehalf: { actor: 'appliance', correlationId: null } })).problems,
    standing: async ({ enrollmentToken, nodeId }) => {
      const parts = parseEnrollmentToken(secretText(enrollmentToken));
      if (!parts.ok) return 'unknown';
      return tokenStanding(await store.enrollmentToken(parts.value.id), parts.value, nodeId, now());
    },
  };
}

async function surroundings({ authority, taskSigner, bundle }: BundleIssuerDeps, machine: Machine) {
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

function draftStanding(token: NewEnrollmentToken, text: string, node: MachineId, now: Instant): TokenStanding {
  const parts = parseEnrollmentToken(text);
  if (!parts.ok) return 'unknown';
  const held = { token: { ...token, consumedAt: null, revokedAt: null }, secretHash: token.secretHash };
  return tokenStanding({ ...held, machineRemoved: false }, parts.value, node, now);
}

function alreadyHandedOver({ spec }: Machine, open: EnrollmentToken): ColdironError {
  const { hostname } = spec;
  if (open.kind === 'recovery') {
    return new ColdironError('conflict', `${hostname} is enrolled: reissue the bundle if it is to enroll again`);
  }
  return new ColdironError(
    'conflict',
    `the bundle of ${hostname} was handed to ${open.actor} on ${instantText(open.createdAt)}, and is good until ` +
      `${instantText(open.expiresAt)}: reissue it if that one is lost`,
  );
}
