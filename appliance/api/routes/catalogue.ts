import { type TSchema, Type } from 'typebox';
import type { App } from '../base-app.ts';
import type { ManagementDeps } from '../deps.ts';
import {
  Cluster,
  clusterView,
  Network,
  networkView,
  Profile,
  profileView,
  Site,
  Sku,
  siteView,
  skuView,
} from '../schemas/catalogue.ts';
import { refTo } from '../schemas/shared.ts';

export function catalogueRoutes(app: App, { fleet }: ManagementDeps): void {
  const options = <S extends TSchema>(summary: string, response: S) =>
    ({ config: { access: 'viewer' }, schema: { summary, tags: ['catalogue'], response: { 200: response } } }) as const;

  app.get('/sites', options('Sites', Type.Object({ sites: Type.Array(refTo(Site)) })), async () => ({
    sites: [...fleet.sites()].map(siteView),
  }));
  app.get('/networks', options('Networks', Type.Object({ networks: Type.Array(refTo(Network)) })), async () => ({
    networks: [...fleet.networks()].map(networkView),
  }));
  app.get('/skus', options('The SKU catalogue', Type.Object({ skus: Type.Array(refTo(Sku)) })), async () => ({
    skus: [...fleet.skus()].map(skuView),
  }));
  app.get('/profiles', options('Profiles', Type.Object({ profiles: Type.Array(refTo(Profile)) })), async () => ({
    profiles: [...fleet.profiles()].map(profileView),
  }));
  app.get('/clusters', options('Clusters', Type.Object({ clusters: Type.Array(refTo(Cluster)) })), async () => ({
    clusters: [...fleet.clusters()].map(clusterView),
  }));
}
