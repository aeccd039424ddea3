# The services of a cluster and their ports: the same table as appliance/domain/cluster-services.ts; a
# test compares the two. `api` says who may reach the first port: only members, or everyone inside.
{
  chainfire = {
    port = 2379;
    raftPort = 2380;
    gossipPort = 2381;
    api = "members";
  };
  flaredb = {
    port = 2479;
    raftPort = 2480;
    api = "members";
  };
  iam = {
    port = 8080;
    api = "inside";
  };
  plasmavmc = {
    port = 9090;
    api = "inside";
  };
  prismnet = {
    port = 9091;
    api = "inside";
  };
  flashdns = {
    port = 53;
    udp = true;
    api = "inside";
  };
  fiberlb = {
    port = 9092;
    api = "inside";
  };
  k8shost = {
    port = 10250;
    api = "inside";
  };
}
