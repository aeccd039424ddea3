// Sites, networks, SKUs, profiles and clusters as the API shows them.

import type { Static } from 'typebox';
import type { Cluster, Network, Profile, Site, Sku } from '../../contract/schemas/catalogue.ts';
import type * as catalogue from '../../domain/catalogue.ts';
import { prefixText } from '../../domain/ipv4.ts';
import type * as network from '../../domain/network.ts';

export const siteView = ({ bmcMode, ...site }: network.Site): Static<typeof Site.schema> => ({
  ...site,
  bmc_mode: bmcMode,
});

export const networkView = ({
  prefix,
  efiLoader,
  secureBoot,
  dns,
  pools,
  ...rest
}: network.SiteNetwork): Static<typeof Network.schema> => ({
  ...rest,
  prefix: prefixText(prefix),
  dns: [...dns],
  pools: [...pools],
  efi_loader: efiLoader,
  secure_boot: secureBoot,
});

export const skuView = ({ regions, minimum, ...sku }: catalogue.Sku): Static<typeof Sku.schema> => ({
  ...sku,
  regions: [...regions],
  minimum: minimum && {
    cores: minimum.cores,
    threads: minimum.threads,
    memory_bytes: minimum.memoryBytes,
    disks: minimum.disks,
    disk_bytes: minimum.diskBytes,
    nics: minimum.nics,
    nic_mbps: minimum.nicMbps,
  },
});

export const profileView = ({
  architectures,
  skus,
  deployMinutes,
  requiredPcrs,
  // Its script is not for every reader.
  bootstrap: _bootstrap,
  ...profile
}: catalogue.Profile): Static<typeof Profile.schema> => ({
  ...profile,
  architectures: [...architectures],
  skus: [...skus],
  deploy_minutes: deployMinutes,
  required_pcrs: [...requiredPcrs],
});

export const clusterView = ({ bootstrap, ...cluster }: catalogue.Cluster): Static<typeof Cluster.schema> => ({
  ...cluster,
  bootstrap: [...bootstrap],
});
