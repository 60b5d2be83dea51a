package cases

import "math/rand/v2"

// Pod makes a pod that is valid but for what policies are about.
func Pod(random *rand.Rand) Object {
	s := source{random}
	// Pods that ask for much fail in many ways at once, and show little.
	much := pick(s, 0, 0, 4, 4, 10, 30)
	spec := Object{"serviceAccountName": "sa"}
	spec["containers"] = s.containers(much, 1, "a", "b")
	if s.chance(10 + much) {
		spec["initContainers"] = s.containers(much, 1, "i", "j")
	}
	if s.chance(much / 2) {
		spec["ephemeralContainers"] = s.containers(much, 1, "e", "f")
	}
	s.flag(spec, much, "hostNetwork")
	s.flag(spec, much, "hostPID")
	s.flag(spec, much, "hostIPC")
	maybe(s, spec, much, "runtimeClassName", func() any { return pick(s, classes...) })
	maybe(s, spec, 60, "securityContext", func() any { return s.podContext(much) })
	list := make([]any, s.IntN(3))
	for index := range list {
		list[index] = s.volume(string(rune('v' + index)))
	}
	if s.chance(40 + much) {
		spec["volumes"] = list
		s.mount(spec, list)
	}
	metadata := Object{"name": "p", "namespace": "n"}
	annotations := Object{}
	for _, name := range []string{"a", "b", "i", "e"} {
		maybe(s, annotations, much, "container.apparmor.security.beta.kubernetes.io/"+name, func() any { return pick(s, append(appArmor, "")...) })
		maybe(s, annotations, much, "container.seccomp.security.alpha.kubernetes.io/"+name, func() any { return pick(s, append(seccomp, "")...) })
	}
	maybe(s, annotations, 10+much, "seccomp.security.alpha.kubernetes.io/pod", func() any { return pick(s, append(seccomp, "")...) })
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	return Object{"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
}

func (s source) containers(much, least int, names ...string) []any {
	list := make([]any, least+s.IntN(len(names)-least+1))
	for index := range list {
		container := Object{"name": names[index], "image": "i"}
		maybe(s, container, 40+much, "securityContext", func() any { return s.context(much) })
		maybe(s, container, 10+much, "ports", func() any { return s.containerPorts() })
		list[index] = container
	}
	return list
}

func (s source) containerPorts() []any {
	list := make([]any, s.IntN(3))
	for index := range list {
		port := Object{"containerPort": pick(s, 80, 443, 8080, 9000)}
		maybe(s, port, 40, "hostPort", func() any { return pick(s, 0, 80, 443, 8000, 8080, 9000) })
		list[index] = port
	}
	return list
}

func (s source) podContext(much int) Object {
	context := Object{}
	s.shared(context, much)
	maybe(s, context, 10+much, "fsGroup", s.id)
	maybe(s, context, 15+much, "supplementalGroups", func() any {
		list := make([]any, s.IntN(3))
		for index := range list {
			list[index] = s.id()
		}
		return list
	})
	maybe(s, context, much, "sysctls", func() any {
		list := make([]any, s.IntN(3))
		for index := range list {
			list[index] = Object{"name": pick(s, sysctls...), "value": "1"}
		}
		return list
	})
	return context
}

func (s source) context(much int) Object {
	context := Object{}
	s.shared(context, much)
	s.flag(context, much, "privileged")
	s.flag(context, 10+much, "readOnlyRootFilesystem")
	s.flag(context, 10+much, "allowPrivilegeEscalation")
	maybe(s, context, much, "procMount", func() any { return pick(s, "Default", "Unmasked") })
	maybe(s, context, 10+much, "capabilities", func() any {
		names := Object{}
		maybe(s, names, 50, "add", func() any { return some(s, 2, capabilities...) })
		maybe(s, names, 50, "drop", func() any { return some(s, 3, capabilities...) })
		return names
	})
	return context
}

func (s source) shared(context Object, much int) {
	maybe(s, context, 15+much, "runAsUser", s.id)
	maybe(s, context, 10+much, "runAsGroup", s.id)
	s.flag(context, 10+much, "runAsNonRoot")
	maybe(s, context, 5+much, "seLinuxOptions", s.seLinux)
	maybe(s, context, 5+much, "seccompProfile", func() any {
		return pick(s,
			Object{"type": "RuntimeDefault"}, Object{"type": "RuntimeDefault"}, Object{"type": "Unconfined"},
			Object{"type": "Localhost", "localhostProfile": "a"}, Object{"type": "Localhost", "localhostProfile": "a/b"},
			Object{"type": "Localhost", "localhostProfile": "../a"}, Object{"type": "Localhost"})
	})
}

// volume makes a volume with what its kind needs to be valid.
func (s source) volume(name string) Object {
	kind := pick(s, volumes...)
	content := Object{
		"hostPath":              Object{"path": pick(s, paths...)},
		"gcePersistentDisk":     Object{"pdName": "x"},
		"awsElasticBlockStore":  Object{"volumeID": "x"},
		"gitRepo":               Object{"repository": "x"},
		"secret":                Object{"secretName": "x"},
		"nfs":                   Object{"server": "s", "path": "/"},
		"iscsi":                 Object{"targetPortal": "1.2.3.4", "iqn": "iqn.2001-04.com.example:a", "lun": 0},
		"glusterfs":             Object{"endpoints": "e", "path": "p"},
		"persistentVolumeClaim": Object{"claimName": "x"},
		"rbd":                   Object{"monitors": []any{"m"}, "image": "i"},
		"flexVolume":            Object{"driver": pick(s, drivers...)},
		"cinder":                Object{"volumeID": "x"},
		"cephfs":                Object{"monitors": []any{"m"}},
		"flocker":               Object{"datasetName": "x"},
		"downwardAPI":           Object{"items": []any{s.downward()}},
		"fc":                    Object{"targetWWNs": []any{"x"}, "lun": 0},
		"azureFile":             Object{"secretName": "x", "shareName": "x"},
		"configMap":             Object{"name": "x"},
		"vsphereVolume":         Object{"volumePath": "x"},
		"quobyte":               Object{"registry": "r:1", "volume": "x"},
		"azureDisk":             Object{"diskName": "x", "diskURI": "https://x"},
		"photonPersistentDisk":  Object{"pdID": "x"},
		"storageos":             Object{"volumeName": "x"},
		"projected":             Object{"sources": s.projections()},
		"portworxVolume":        Object{"volumeID": "x"},
		"scaleIO":               Object{"gateway": "g", "system": "s", "volumeName": "x", "secretRef": Object{"name": "x"}},
		"csi":                   Object{"driver": pick(s, "csi.example.com", "other.example.com")},
		"ephemeral": Object{"volumeClaimTemplate": Object{"spec": Object{
			"accessModes": []any{"ReadWriteOnce"}, "resources": Object{"requests": Object{"storage": "1"}},
		}}},
	}
	volume := Object{"name": name}
	if kind != "emptyDir" {
		volume[kind] = content[kind]
	} else if s.chance(50) {
		volume[kind] = Object{}
	}
	return volume
}

func (s source) downward() Object {
	item := Object{"path": pick(s, "namespace", "namespace", "name")}
	if s.chance(10) {
		item["resourceFieldRef"] = Object{"containerName": "a", "resource": "limits.cpu"}
		return item
	}
	field := Object{"fieldPath": pick(s, "metadata.namespace", "metadata.namespace", "metadata.name")}
	maybe(s, field, 50, "apiVersion", func() any { return "v1" })
	item["fieldRef"] = field
	return item
}

func (s source) projections() []any {
	token := Object{"serviceAccountToken": Object{"path": "token", "expirationSeconds": 3600}}
	root := Object{"configMap": Object{"name": "kube-root-ca.crt"}}
	list := []any{token, root}
	maybeAdd := func(percent int, part Object) {
		if s.chance(percent) {
			list = append(list, part)
		}
	}
	maybeAdd(50, Object{"downwardAPI": Object{"items": []any{s.downward()}}})
	maybeAdd(20, Object{"configMap": Object{"name": "other"}})
	maybeAdd(20, Object{"secret": Object{"name": "x"}})
	maybeAdd(20, Object{"serviceAccountToken": Object{"path": pick(s, "token", "other"), "audience": pick(s, "", "vault")}})
	s.Shuffle(len(list), func(left, right int) { list[left], list[right] = list[right], list[left] })
	return list[s.IntN(len(list)):]
}

// mount puts volumes into some of the containers.
func (s source) mount(spec Object, volumes []any) {
	for _, key := range []string{"initContainers", "containers", "ephemeralContainers"} {
		containers, _ := spec[key].([]any)
		for _, container := range containers {
			var mounts []any
			for _, volume := range volumes {
				if !s.chance(60) {
					continue
				}
				name := volume.(Object)["name"]
				mount := Object{"name": name, "mountPath": "/m/" + name.(string)}
				s.flag(mount, 60, "readOnly")
				mounts = append(mounts, mount)
			}
			if len(mounts) > 0 {
				container.(Object)["volumeMounts"] = mounts
			}
		}
	}
}
