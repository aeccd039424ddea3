// Input and answer of each operation as TypeBox schemas: type, validator, serializer and OpenAPI in one.

import { type Static, type TSchema, Type } from 'typebox';
import type { CommandId } from './commands.ts';
import type { OperationId } from './operations.ts';
import {
  KeySet,
  KeySetAnswer,
  KeySetBody,
  KeySetReference,
  NewSshKey,
  ReviewBody,
  RollBackBody,
  RotateBody,
  SiteKeySet,
  SiteKeySetBody,
  SiteReference,
  SshKey,
  SshKeyFilter,
  SshKeyReference,
  SudoPolicy,
  SudoPolicyBody,
  SudoPolicyReference,
  ValidateBody,
} from './schemas/access.ts';
import { HostAnswer, HostRequest } from './schemas/admin-node.ts';
import {
  AgentLogFilter,
  AgentLogLine,
  BootstrapScriptAnswer,
  NodeAgent,
  RecoveryAnswer,
  UpdateAnswer,
  UpdateBody,
} from './schemas/agent.ts';
import {
  Allocation,
  AllocationFilter,
  AllocationKeySetBody,
  AllocationReference,
  CleanUpBody,
  NewAllocation,
} from './schemas/allocation.ts';
import {
  BootAnswer,
  BootRequest,
  ClearAnswer,
  ConsoleLogAnswer,
  ConsoleLogQuery,
  CredentialsAnswer,
  CredentialsRequest,
  EventLogAnswer,
  IdentifyAnswer,
  IdentifyRequest,
  PowerAnswer,
  PowerRequest,
  Quirk,
  RotateAnswer,
  ScanAnswer,
  ScanRequest,
  SensorsAnswer,
} from './schemas/bmc.ts';
import { NodeCabling } from './schemas/cabling.ts';
import { Cluster, Network, Profile, Site, Sku } from './schemas/catalogue.ts';
import { DiagnosisAnswer, Recording, SiteDiagnosisAnswer, TimelineAnswer } from './schemas/diagnosis.ts';
import { Authorities, AuthorityView, BundleAnswer, BundleRequest, NodeTrust } from './schemas/enrollment.ts';
import { Explanation } from './schemas/explanation.ts';
import {
  DeadLetterFilter,
  DeadLettersAnswer,
  Receiver,
  ReceiverReference,
  ReplayAnswer,
  ReplayBody,
} from './schemas/exports.ts';
import { ApplyAnswer, InventoryApply, NodeDocument, NodeImport } from './schemas/inventory.ts';
import { Node, NodeFilter, NodePage, NodePresence, NodeReference } from './schemas/node.ts';
import { CommandBody, ConfirmedBody, DeployBody, NodeFacts, NodeSession } from './schemas/node-work.ts';
import {
  NewOnboarding,
  Onboarding,
  OnboardingConfirmation,
  OnboardingDetails,
  OnboardingFilter,
  OnboardingNote,
  OnboardingReference,
} from './schemas/onboarding.ts';
import {
  ApprovalBody,
  NewProposal,
  Proposal,
  ProposalFilter,
  ProposalReference,
  RejectionBody,
  SkuReference,
} from './schemas/proposal.ts';
import { Rendering, RenderingDifference, SiteRendering, TemplateState } from './schemas/rendering.ts';
import { nullable, PageSize, refTo } from './schemas/shared.ts';
import { SignInBody, SignInCode, WhoAmI } from './schemas/sign-in.ts';
import {
  ApplianceProblemsAnswer,
  BootContractAnswer,
  ExplainQuery,
  HealthAnswer,
  ListenersAnswer,
  RetireAuthorityBody,
  RotateAuthorityBody,
  TaskKeyAnswer,
} from './schemas/site.ts';
import { EventStream, FleetAnswer, StreamQuery } from './schemas/stream.ts';
import { NewTask, Task, TaskReason, TaskReference } from './schemas/task.ts';
import { Terminal, TerminalFilter, TerminalQuery, TerminalReference } from './schemas/terminal.ts';
import { NewToken, Token } from './schemas/token.ts';
import { AuditEntry, AuditFilter, AuditVerdict, Event, EventFilter, Lease } from './schemas/trail.ts';

export interface Wire {
  readonly params?: TSchema;
  readonly query?: TSchema;
  readonly body?: TSchema;
  readonly answer: TSchema;
}

const closed = { additionalProperties: false } as const;
const Nothing = Type.Object({}, closed);
const params = NodeReference;
const limited = (standard: number, most: number) => Type.Object({ limit: PageSize(standard, most) }, closed);
const listOf = <K extends string, S extends TSchema>(key: K, item: S) =>
  Type.Object({ [key]: Type.Array(item) } as Record<K, ReturnType<typeof Type.Array<S>>>);

const command = { params, body: CommandBody, answer: refTo(Node) } as const;
const confirmedCommand = { params, body: ConfirmedBody, answer: refTo(Node) } as const;

const COMMANDS = {
  acceptNode: command,
  commissionNode: command,
  deployNode: { params, body: DeployBody, answer: refTo(Node) },
  releaseNode: confirmedCommand,
  markNodeFixed: command,
  cancelNodeWork: command,
  rescueNode: command,
  endNodeRescue: command,
  drainNode: command,
  confirmNodeDrained: command,
  undrainNode: command,
  retireNode: command,
  reactivateNode: command,
  quarantineNode: command,
  clearNodeQuarantine: command,
  rebindNode: command,
  removeNode: confirmedCommand,
} as const satisfies Readonly<Record<CommandId, Wire>>;

export const WIRE = {
  ...COMMANDS,
  listNodes: { query: NodeFilter, answer: NodePage },
  getNode: { params, answer: refTo(Node) },
  getNodePresence: { params, answer: NodePresence },
  createNode: { body: NodeDocument, answer: refTo(Node) },
  importNodes: { body: NodeImport, answer: ApplyAnswer },
  registerHost: { body: HostRequest, answer: HostAnswer },
  listNodeSessions: { params, query: limited(20, 100), answer: listOf('sessions', refTo(NodeSession)) },
  getNodeCabling: { params, answer: refTo(NodeCabling) },
  listNodeFacts: { params, answer: listOf('facts', refTo(NodeFacts)) },
  explainNode: { params, query: ExplainQuery, answer: refTo(Explanation) },
  diagnoseNode: { params, answer: DiagnosisAnswer },
  getNodeTimeline: { params, answer: TimelineAnswer },
  recordNode: { params, answer: Recording },
  diagnoseSite: { answer: SiteDiagnosisAnswer },
  createTask: { params, body: NewTask, answer: refTo(Task) },
  listTasks: { params, query: limited(50, 500), answer: listOf('tasks', refTo(Task)) },
  getTask: {
    params: TaskReference,
    query: Type.Object(
      { wait: Type.Optional(Type.Integer({ minimum: 0, maximum: 60, description: 'Seconds' })) },
      closed,
    ),
    answer: refTo(Task),
  },
  resumeTask: { params: TaskReference, body: TaskReason, answer: refTo(Task) },
  abandonTask: { params: TaskReference, body: TaskReason, answer: refTo(Task) },
  reissueEnrollment: { params, answer: RecoveryAnswer },
  issueBootstrapScript: { params, answer: BootstrapScriptAnswer },
  getNodeAgent: { params, answer: NodeAgent },
  reconcileNodeAgent: { params, answer: NodeAgent },
  updateNodeAgent: { params, body: UpdateBody, answer: UpdateAnswer },
  listAgentLogs: { params, query: AgentLogFilter, answer: listOf('lines', AgentLogLine) },
  issueEnrollmentBundle: { params, body: BundleRequest, answer: BundleAnswer },
  getNodeEnrollment: { params, answer: NodeTrust },
  previewRendering: { params, answer: Rendering },
  createRendering: { params, answer: Rendering },
  compareRendering: { params, answer: RenderingDifference },

  createOnboarding: { body: NewOnboarding, answer: refTo(Onboarding) },
  listOnboardings: { query: OnboardingFilter, answer: listOf('onboardings', refTo(Onboarding)) },
  getOnboarding: { params: OnboardingReference, answer: OnboardingDetails },
  confirmOnboarding: { params: OnboardingReference, body: OnboardingConfirmation, answer: refTo(Onboarding) },
  cancelOnboarding: { params: OnboardingReference, body: OnboardingNote, answer: refTo(Onboarding) },
  retryOnboarding: { params: OnboardingReference, body: OnboardingNote, answer: refTo(Onboarding) },

  getNodePower: { params, answer: PowerAnswer },
  setNodePower: { params, body: PowerRequest, answer: PowerAnswer },
  setNodeBootDevice: { params, body: BootRequest, answer: BootAnswer },
  identifyNode: { params, body: IdentifyRequest, answer: IdentifyAnswer },
  getNodeSensors: { params, answer: SensorsAnswer },
  getNodeEventLog: { params, answer: EventLogAnswer },
  clearNodeEventLog: { params, answer: ClearAnswer },
  openNodeConsole: {
    params,
    query: Type.Object(
      {
        steal: Type.Optional(Type.Boolean({ description: 'Take the typing over from whoever types (false)' })),
        read_only: Type.Optional(Type.Boolean({ description: 'Read beside whoever types (false)' })),
      },
      closed,
    ),
    answer: Type.Null({ description: 'From here on, the bytes of the console' }),
  },
  getNodeConsoleLog: { params, query: ConsoleLogQuery, answer: ConsoleLogAnswer },
  setBmcCredentials: { params, body: CredentialsRequest, answer: CredentialsAnswer },
  rotateBmcPassword: { params, body: Nothing, answer: RotateAnswer },
  forgetBmcCertificate: { params, answer: Type.Object({ node: Type.String() }) },
  listBmcQuirks: { answer: listOf('quirks', refTo(Quirk)) },
  scanForBmcs: { body: ScanRequest, answer: ScanAnswer },

  listSshKeys: { query: SshKeyFilter, answer: listOf('keys', refTo(SshKey)) },
  addSshKey: { body: NewSshKey, answer: refTo(SshKey) },
  removeSshKey: { params: SshKeyReference, answer: refTo(SshKey) },
  listKeySets: { answer: listOf('key_sets', refTo(KeySet)) },
  getKeySet: { params: KeySetReference, answer: KeySetAnswer },
  putKeySet: { params: KeySetReference, body: KeySetBody, answer: refTo(KeySet) },
  removeKeySet: { params: KeySetReference, answer: refTo(KeySet) },
  rotateKeySet: { params: KeySetReference, body: RotateBody, answer: refTo(KeySet) },
  validateKeySet: { params: KeySetReference, body: ValidateBody, answer: refTo(KeySet) },
  finishKeySetRotation: { params: KeySetReference, answer: refTo(KeySet) },
  rollBackKeySet: { params: KeySetReference, body: RollBackBody, answer: refTo(KeySet) },
  listSiteKeySets: { answer: listOf('sites', SiteKeySet) },
  putSiteKeySet: { params: SiteReference, body: SiteKeySetBody, answer: SiteKeySet },
  rollBackSiteKeySet: { params: SiteReference, answer: SiteKeySet },

  listSudoPolicies: { answer: listOf('policies', refTo(SudoPolicy)) },
  putSudoPolicy: { params: SudoPolicyReference, body: SudoPolicyBody, answer: refTo(SudoPolicy) },
  reviewSudoPolicy: { params: SudoPolicyReference, body: ReviewBody, answer: refTo(SudoPolicy) },
  removeSudoPolicy: { params: SudoPolicyReference, answer: refTo(SudoPolicy) },
  listAllocations: { query: AllocationFilter, answer: listOf('allocations', refTo(Allocation)) },
  getAllocation: { params: AllocationReference, answer: refTo(Allocation) },
  requestAllocation: { body: NewAllocation, answer: refTo(Allocation) },
  releaseAllocation: { params: AllocationReference, answer: refTo(Allocation) },
  cleanUpAllocation: { params: AllocationReference, body: CleanUpBody, answer: refTo(Allocation) },
  setAllocationKeySet: { params: AllocationReference, body: AllocationKeySetBody, answer: refTo(Allocation) },

  listProposals: { query: ProposalFilter, answer: listOf('proposals', refTo(Proposal)) },
  getProposal: { params: ProposalReference, answer: refTo(Proposal) },
  proposeOperation: { body: NewProposal, answer: refTo(Proposal) },
  approveProposal: { params: ProposalReference, body: ApprovalBody, answer: refTo(Proposal) },
  rejectProposal: { params: ProposalReference, body: RejectionBody, answer: refTo(Proposal) },
  rollBackSku: { params: SkuReference, answer: refTo(Proposal) },
  openNodeTerminal: {
    params,
    query: TerminalQuery,
    answer: Type.Null({ description: 'From here on, frames: see docs/allocations.md' }),
  },
  listTerminals: { query: TerminalFilter, answer: listOf('terminals', refTo(Terminal)) },
  closeTerminal: { params: TerminalReference, answer: refTo(Terminal) },

  applyInventory: { body: InventoryApply, answer: ApplyAnswer },
  listSites: { answer: listOf('sites', refTo(Site)) },
  listNetworks: { answer: listOf('networks', refTo(Network)) },
  listSkus: { answer: listOf('skus', refTo(Sku)) },
  listProfiles: { answer: listOf('profiles', refTo(Profile)) },
  listClusters: { answer: listOf('clusters', refTo(Cluster)) },
  renderSite: { params: Type.Object({ site: Type.String() }, closed), answer: SiteRendering },
  getTemplates: { answer: TemplateState },
  listLeases: {
    query: Type.Object({ network: Type.Optional(Type.String()) }, closed),
    answer: listOf('leases', refTo(Lease)),
  },
  listListeners: { answer: ListenersAnswer },
  listApplianceProblems: { answer: ApplianceProblemsAnswer },
  checkBootContract: { answer: BootContractAnswer },
  listEvents: {
    query: EventFilter,
    answer: Type.Object({ events: Type.Array(refTo(Event)), next: nullable(Type.Integer()) }),
  },
  listFleet: { answer: FleetAnswer },
  streamEvents: { query: StreamQuery, answer: EventStream },
  listAuditEntries: {
    query: AuditFilter,
    answer: Type.Object({ entries: Type.Array(refTo(AuditEntry)), next: nullable(Type.Integer()) }),
  },
  verifyAudit: { answer: AuditVerdict },
  getAuthorities: { answer: Authorities },
  rotateAuthority: { body: RotateAuthorityBody, answer: AuthorityView },
  retireAuthority: { body: RetireAuthorityBody, answer: AuthorityView },
  rotateTaskKey: { body: Nothing, answer: TaskKeyAnswer },
  listExports: { answer: listOf('exports', refTo(Receiver)) },
  listDeadLetters: { params: ReceiverReference, query: DeadLetterFilter, answer: DeadLettersAnswer },
  replayDeadLetters: { params: ReceiverReference, body: ReplayBody, answer: ReplayAnswer },
  listTokens: { answer: listOf('tokens', refTo(Token)) },
  createToken: { body: NewToken, answer: Type.Object({ ...Token.schema.properties, token: Type.String() }) },
  revokeToken: {
    params: Type.Object({ token: Type.String({ description: 'Its id' }) }, closed),
    answer: refTo(Token),
  },
  getSession: { answer: WhoAmI },
  signIn: { body: SignInBody, answer: WhoAmI },
  signOut: { answer: Nothing },
  createSignInCode: { body: Nothing, answer: SignInCode },
  getHealth: { answer: HealthAnswer },
  getMetrics: { answer: Type.String({ description: 'OpenMetrics 1.0, or the Prometheus text format 0.0.4' }) },
  getOpenApi: { answer: Type.Object({}, { additionalProperties: true }) },
} as const satisfies Readonly<Record<OperationId, Wire>>;

type Wires = typeof WIRE;
type Part<W, K extends string> = W extends { readonly [key in K]: infer S extends TSchema } ? Static<S> : undefined;

/** What the operation answers. */
export type Answer<Id extends OperationId> = Static<Wires[Id]['answer']>;
export type Params<Id extends OperationId> = Part<Wires[Id], 'params'>;
export type Query<Id extends OperationId> = Part<Wires[Id], 'query'>;
export type Body<Id extends OperationId> = Part<Wires[Id], 'body'>;
