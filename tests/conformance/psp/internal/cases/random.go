// Package cases makes random policies and pods, as JSON: what is sent to one side is read by the other as it stands,
// with empty lists and nulls where Go's own types could not hold them.
package cases

import "math/rand/v2"

// Object is a JSON object.
type Object = map[string]any

// source makes choices.
type source struct{ *rand.Rand }

// chance is true in so many of a hundred cases.
func (s source) chance(percent int) bool { return s.IntN(100) < percent }

// pick takes one of some values.
func pick[T any](s source, values ...T) T { return values[s.IntN(len(values))] }

// some takes up to count values, and sometimes one twice.
func some[T any](s source, count int, values ...T) []any {
	list := make([]any, s.IntN(count+1))
	for index := range list {
		list[index] = pick(s, values...)
	}
	return list
}

// maybe sets a key in so many of a hundred cases.
func maybe(s source, object Object, percent int, key string, value func() any) {
	if s.chance(percent) {
		object[key] = value()
	}
}

// flag sets a key to a truth value, or to null, in so many of a hundred cases.
func (s source) flag(object Object, percent int, key string) {
	maybe(s, object, percent, key, func() any { return pick[any](s, true, true, false, false, nil) })
}

// id is a user or group, often one that is named elsewhere.
func (s source) id() any {
	return pick[any](s, 0, 1, 5, 10, 99, 100, 1000, 1002, 2000, 65535, 65536, 2147483647)
}

// ids are ranges, mostly one.
func (s source) ids() []any {
	list := make([]any, pick(s, 0, 1, 1, 1, 2, 3))
	for index := range list {
		least := pick(s, 0, 1, 10, 100, 1000, 1002)
		list[index] = Object{"min": least, "max": least + pick(s, 0, 0, 1, 9, 900, 64535)}
	}
	return list
}

// seLinux is a context with some of its parts.
func (s source) seLinux() any {
	context := Object{}
	maybe(s, context, 20, "user", func() any { return pick(s, "", "u", "v") })
	maybe(s, context, 20, "role", func() any { return pick(s, "", "r", "q") })
	maybe(s, context, 40, "type", func() any { return pick(s, "container_t", "spc_t", "") })
	maybe(s, context, 60, "level", func() any {
		return pick(s, "s0:c1,c2", "s0:c2,c1", "s0", "s1:c1,c2", "", "s0:", "s0:c1", "s0:c1,c1,c2")
	})
	return context
}

var capabilities = []string{"ALL", "NET_ADMIN", "NET_ADMIN", "SYS_ADMIN", "CAP_SYS_ADMIN", "CHOWN", "KILL", "NET_BIND_SERVICE", "net_admin"}

var volumes = []string{
	"hostPath", "hostPath", "hostPath", "hostPath", "emptyDir", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "secret", "nfs", "iscsi",
	"glusterfs", "persistentVolumeClaim", "rbd", "flexVolume", "flexVolume", "cinder", "cephfs", "cephfs", "cephfs", "flocker", "downwardAPI",
	"fc", "azureFile", "configMap", "vsphereVolume", "quobyte", "azureDisk", "photonPersistentDisk", "storageos",
	"projected", "projected", "portworxVolume", "scaleIO", "csi", "csi", "ephemeral",
}

var paths = []string{
	"/", "/data", "/data/", "/data/project", "/data/project/", "/data/projects", "/data/project/a", "/etc", "/etc/ldap.conf",
	"/data//project", "data", "/data/project/../../etc", "/data/..a",
}

var sysctls = []string{
	"kernel.shm_rmid_forced", "net.ipv4.tcp_syncookies", "kernel.msgmax", "kernel.sem", "net.core.somaxconn", "net.ipv4.ip_forward",
}

var drivers = []string{"example/lvm", "example/nfs", "csi.example.com", "other.example.com"}

var classes = []string{"kata", "gvisor", "runc"}

var seccomp = []string{
	"runtime/default", "runtime/default", "docker/default", "unconfined", "localhost/a", "localhost/a/b", "localhost/",
}

var appArmor = []string{"runtime/default", "unconfined", "localhost/a", "localhost/b"}
