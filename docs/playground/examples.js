// The examples of the playground. tests/conformance/playground asks each one on the command line, too.
"use strict";

const EXAMPLES = [
{
  title: "A team, its namespace and its permissions",
  command: "render --stdout",
  files: [
  {path: "bailiwick.yaml", text: `apiVersion: bailiwick.dev/v1alpha1
kind: Workspace
metadata:
  name: example
spec:
  # Users, groups and namespaces from outside the policies. A list is complete: another name in a policy is an error.
  known:
    users: []
    groups: [team-a]
    namespaces: [team-a, team-b]
  targets:
  - name: production
    version: "1.37"
`},
  {path: "policies/team.yaml", text: `apiVersion: bailiwick.dev/v1alpha1
kind: PermissionSet
metadata:
  name: deployer
spec:
  rules:
  - apiGroups: [apps]
    resources: [deployments]
    verbs: [get, list, watch, create, update, patch, delete]
  - apiGroups: [""]
    resources: [pods, pods/log]
    verbs: [get, list, watch]
---
apiVersion: bailiwick.dev/v1alpha1
kind: NamespaceSet
metadata:
  name: teams
spec:
  labels:
    tenancy: team
  namespaces:
  - name: team-a
  - name: team-b
  resourceQuota:
    name: team
    hard:
      pods: 20
      requests.memory: 8Gi
---
apiVersion: bailiwick.dev/v1alpha1
kind: Grant
metadata:
  name: team-a
spec:
  to:
    groups: [team-a]
    serviceAccounts:
    - name: ci
      create: true
  permissionSets: [deployer]
  clusterRoles: [view]
  namespaces: [team-a]
---
apiVersion: bailiwick.dev/v1alpha1
kind: AccessTest
metadata:
  name: team-a
spec:
  who:
    groups: [team-a]
  must:
  - verbs: [create, patch]
    resources: [deployments]
    namespaces: [team-a]
  mustNot:
  - verbs: [get, list, watch]
    resources: [secrets]
    namespaces: ["*"]
  - verbs: [create]
    resources: [deployments]
    namespaces: [team-b]
`},
  ],
},
{
  title: "Who can read Secrets? Plain manifests",
  command: "who-can get secrets --from .",
  files: [
  {path: "manifests/reporter.yaml", text: `apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: reporter, namespace: shop}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reporter}
rules:
- apiGroups: [""]
  resources: [pods, secrets]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [serviceaccounts/token]
  verbs: [create]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reporter}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reporter}
subjects:
- {kind: ServiceAccount, name: reporter, namespace: shop}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: developers, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: shop-developers}
`},
  ],
},
{
  title: "Dangerous grants in plain manifests",
  command: "lint --from .",
  files: [
  {path: "manifests/reporter.yaml", text: `apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: reporter, namespace: shop}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reporter}
rules:
- apiGroups: [""]
  resources: [pods, secrets]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [serviceaccounts/token]
  verbs: [create]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reporter}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reporter}
subjects:
- {kind: ServiceAccount, name: reporter, namespace: shop}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: developers, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: shop-developers}
`},
  ],
},
{
  title: "Can a team create Deployments? With the proof",
  command: "can-i create deployments --as-group team-a -n team-a",
  files: [
  {path: "bailiwick.yaml", text: `apiVersion: bailiwick.dev/v1alpha1
kind: Workspace
metadata:
  name: example
spec:
  # Users, groups and namespaces from outside the policies. A list is complete: another name in a policy is an error.
  known:
    users: []
    groups: [team-a]
    namespaces: [team-a, team-b]
  targets:
  - name: production
    version: "1.37"
`},
  {path: "policies/team.yaml", text: `apiVersion: bailiwick.dev/v1alpha1
kind: PermissionSet
metadata:
  name: deployer
spec:
  rules:
  - apiGroups: [apps]
    resources: [deployments]
    verbs: [get, list, watch, create, update, patch, delete]
  - apiGroups: [""]
    resources: [pods, pods/log]
    verbs: [get, list, watch]
---
apiVersion: bailiwick.dev/v1alpha1
kind: NamespaceSet
metadata:
  name: teams
spec:
  labels:
    tenancy: team
  namespaces:
  - name: team-a
  - name: team-b
  resourceQuota:
    name: team
    hard:
      pods: 20
      requests.memory: 8Gi
---
apiVersion: bailiwick.dev/v1alpha1
kind: Grant
metadata:
  name: team-a
spec:
  to:
    groups: [team-a]
    serviceAccounts:
    - name: ci
      create: true
  permissionSets: [deployer]
  clusterRoles: [view]
  namespaces: [team-a]
---
apiVersion: bailiwick.dev/v1alpha1
kind: AccessTest
metadata:
  name: team-a
spec:
  who:
    groups: [team-a]
  must:
  - verbs: [create, patch]
    resources: [deployments]
    namespaces: [team-a]
  mustNot:
  - verbs: [get, list, watch]
    resources: [secrets]
    namespaces: ["*"]
  - verbs: [create]
    resources: [deployments]
    namespaces: [team-b]
`},
  ],
},
{
  title: "Two mistakes, and their places",
  command: "render --stdout",
  files: [
  {path: "bailiwick.yaml", text: `apiVersion: bailiwick.dev/v1alpha1
kind: Workspace
metadata:
  name: example
spec:
  # Users, groups and namespaces from outside the policies. A list is complete: another name in a policy is an error.
  known:
    users: []
    groups: [team-a]
    namespaces: [team-a, team-b]
  targets:
  - name: production
    version: "1.37"
`},
  {path: "policies/team.yaml", text: `apiVersion: bailiwick.dev/v1alpha1
kind: PermissionSet
metadata:
  name: deployer
spec:
  rules:
  - apiGroups: [apps]
    resources: [deployment]
    verbs: [get, list, watch, create, update, patch, delete]
  - apiGroups: [""]
    resources: [pods, pods/log]
    verbs: [get, list, watch]
---
apiVersion: bailiwick.dev/v1alpha1
kind: NamespaceSet
metadata:
  name: teams
spec:
  labels:
    tenancy: team
  namespaces:
  - name: team-a
  - name: team-b
  resourceQuota:
    name: team
    hard:
      pods: 20
      requests.memory: 8Gi
---
apiVersion: bailiwick.dev/v1alpha1
kind: Grant
metadata:
  name: team-a
spec:
  to:
    groups: [team-a]
    serviceAccounts:
    - name: ci
      create: true
  permisionSets: [deployer]
  clusterRoles: [view]
  namespaces: [team-a]
---
apiVersion: bailiwick.dev/v1alpha1
kind: AccessTest
metadata:
  name: team-a
spec:
  who:
    groups: [team-a]
  must:
  - verbs: [create, patch]
    resources: [deployments]
    namespaces: [team-a]
  mustNot:
  - verbs: [get, list, watch]
    resources: [secrets]
    namespaces: ["*"]
  - verbs: [create]
    resources: [deployments]
    namespaces: [team-b]
`},
  ],
},
{
  title: "A test of access that fails",
  command: "test",
  files: [
  {path: "bailiwick.yaml", text: `apiVersion: bailiwick.dev/v1alpha1
kind: Workspace
metadata:
  name: example
spec:
  # Users, groups and namespaces from outside the policies. A list is complete: another name in a policy is an error.
  known:
    users: []
    groups: [team-a]
    namespaces: [team-a, team-b]
  targets:
  - name: production
    version: "1.37"
`},
  {path: "policies/team.yaml", text: `apiVersion: bailiwick.dev/v1alpha1
kind: PermissionSet
metadata:
  name: deployer
spec:
  rules:
  - apiGroups: [apps]
    resources: [deployments]
    verbs: [get, list, watch, create, update, patch, delete]
  - apiGroups: [""]
    resources: [pods, pods/log]
    verbs: [get, list, watch]
  - apiGroups: [""]
    resources: [secrets]
    verbs: [get]
---
apiVersion: bailiwick.dev/v1alpha1
kind: NamespaceSet
metadata:
  name: teams
spec:
  labels:
    tenancy: team
  namespaces:
  - name: team-a
  - name: team-b
  resourceQuota:
    name: team
    hard:
      pods: 20
      requests.memory: 8Gi
---
apiVersion: bailiwick.dev/v1alpha1
kind: Grant
metadata:
  name: team-a
spec:
  to:
    groups: [team-a]
    serviceAccounts:
    - name: ci
      create: true
  permissionSets: [deployer]
  clusterRoles: [view]
  namespaces: [team-a]
---
apiVersion: bailiwick.dev/v1alpha1
kind: AccessTest
metadata:
  name: team-a
spec:
  who:
    groups: [team-a]
  must:
  - verbs: [create, patch]
    resources: [deployments]
    namespaces: [team-a]
  mustNot:
  - verbs: [get, list, watch]
    resources: [secrets]
    namespaces: ["*"]
  - verbs: [create]
    resources: [deployments]
    namespaces: [team-b]
`},
  ],
},
{
  title: "Twelve teams from a list, on three clusters",
  command: "render --stdout --target production",
  files: [
  {path: "bailiwick.yaml", text: `apiVersion: bailiwick.dev/v1alpha1
kind: Workspace
metadata: {name: platform}
spec:
  known:
    users: []
    groups: ["team-*", platform-admins]
  targets:
  - {name: staging, version: "1.37"}
  - {name: production, version: "1.35"}
  - {name: okd, platform: openshift, version: "4.20"}
`},
  {path: "policies/teams.csv", text: `name,pods,memory
atlas,20,16Gi
billing,40,64Gi
catalog,20,16Gi
checkout,40,64Gi
delivery,20,16Gi
identity,40,32Gi
mail,10,8Gi
media,60,128Gi
orders,40,64Gi
payments,40,64Gi
reports,10,32Gi
search,30,64Gi
`},
  {path: "policies/teams.yaml", text: `apiVersion: bailiwick.dev/v1alpha1
kind: PermissionSet
metadata: {name: deployer}
spec:
  rules:
  - resources: [deployments, statefulsets, services, configmaps, jobs]
    access: write
  - resources: [pods, pods/log]
    access: read
---
apiVersion: bailiwick.dev/v1alpha1
kind: Tenancy
metadata: {name: teams}
spec:
  accounts: {file: teams.csv}
  variables:
    name: {type: string, pattern: "[a-z]+", maxLength: 20}
    pods: {type: integer, minimum: 1, maximum: 100}
    memory: {type: string, pattern: "[0-9]+Gi"}
  class:
    namespace:
      name: "team-{name}"
      labels: {pod-security.kubernetes.io/enforce: restricted}
    resourceQuotas:
    - name: team
      hard: {pods: "{pods}", requests.memory: "{memory}"}
    roles:
    - {name: deployer, permissionSet: deployer}
    grants:
    - name: deployer
      role: deployer
      to: {groups: ["team-{name}"]}
`},
  ],
},
];
