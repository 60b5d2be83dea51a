// The objects of tenants/tenants.yaml, in Jsonnet: an array of them, in the order of our output.
// What is the same for every tenant stands in locals, so that it is evaluated once.
local rbac = 'rbac.authorization.k8s.io';
local write = ['get', 'list', 'watch', 'create', 'delete', 'patch', 'update'];
local coreRule = {
  apiGroups: [''],
  resources: [
    'configmaps',
    'persistentvolumeclaims',
    'pods',
    'pods/log',
    'replicationcontrollers',
    'resourcequotas',
    'services',
  ],
  verbs: write,
};
local workloadRules = [
  {
    apiGroups: [group],
    resources: ['controllerrevisions', 'cronjobs', 'deployments', 'jobs', 'replicasets', 'statefulsets'],
    verbs: write,
  }
  for group in ['apps', 'batch']
];
local podSecurityAnnotations = {
  'seccomp.security.alpha.kubernetes.io/allowedProfileNames': 'runtime/default',
  'seccomp.security.alpha.kubernetes.io/defaultProfileName': 'runtime/default',
};
local podSecurityLabels = { 'app.kubernetes.io/part-of': 'tenants' };
local capabilities = ['CHOWN', 'NET_BIND_SERVICE'];
local dropped = ['AUDIT_WRITE', 'MKNOD', 'NET_RAW', 'SETFCAP', 'SYS_CHROOT'];
local hostPaths = [
  { pathPrefix: '/srv/shared/datasets' },
  { pathPrefix: '/srv/shared/scratch' },
  { pathPrefix: '/srv/shared/results' },
  { pathPrefix: '/srv/mirror/public', readOnly: true },
  { pathPrefix: '/etc/ssl/certs', readOnly: true },
  { pathPrefix: '/etc/cluster/site.yaml', readOnly: true },
  { pathPrefix: '/etc/cluster/proxies.yaml', readOnly: true },
  { pathPrefix: '/etc/ldap/ldap.conf', readOnly: true },
];
local hostPorts = [{ max: 30099, min: 30000 }];
local anyGroup = { ranges: [{ max: 65535, min: 1 }], rule: 'MustRunAs' };
local volumes = [
  'configMap',
  'downwardAPI',
  'emptyDir',
  'projected',
  'secret',
  'hostPath',
  'persistentVolumeClaim',
];

local tenant(row) =
  local name = 'tenant-' + row.name;
  local ownId = { ranges: [{ max: row.uid, min: row.uid }], rule: 'MustRunAs' };
  [
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {
        annotations: {
          'example.org/contact': row.mail,
          'example.org/description':
            'Namespace of the tenant ' + row.name + ', looked after by the team ' + row.team,
        },
        labels: { name: name, team: row.team, tenancy: 'tenant' },
        name: name,
      },
    },
    {
      apiVersion: rbac + '/v1',
      kind: 'Role',
      metadata: { name: name, namespace: name },
      rules: [coreRule] + workloadRules + [
        {
          apiGroups: ['policy'],
          resourceNames: [name + '-psp'],
          resources: ['podsecuritypolicies'],
          verbs: ['use'],
        },
      ],
    },
    {
      apiVersion: rbac + '/v1',
      kind: 'RoleBinding',
      metadata: { name: name + '-members', namespace: name },
      roleRef: { apiGroup: rbac, kind: 'Role', name: name },
      subjects: [
        { apiGroup: rbac, kind: 'User', name: row.name },
        { apiGroup: rbac, kind: 'Group', name: 'team:' + row.team },
        { kind: 'ServiceAccount', name: 'default', namespace: name },
      ],
    },
    {
      apiVersion: 'policy/v1beta1',
      kind: 'PodSecurityPolicy',
      metadata: { annotations: podSecurityAnnotations, labels: podSecurityLabels, name: name + '-psp' },
      spec: {
        allowPrivilegeEscalation: false,
        allowedCapabilities: capabilities,
        allowedHostPaths: hostPaths,
        defaultAllowPrivilegeEscalation: false,
        forbiddenSysctls: ['kernel.msg*'],
        fsGroup: ownId,
        hostPorts: hostPorts,
        readOnlyRootFilesystem: true,
        requiredDropCapabilities: dropped,
        runAsGroup: ownId,
        runAsUser: ownId,
        seLinux: { rule: 'RunAsAny' },
        supplementalGroups: anyGroup,
        volumes: volumes,
      },
    },
  ];

[object for row in std.parseJson(importstr 'rows.json') for object in tenant(row)]
