// Package pods makes random pods and questions about them: mostly almost right, and wrong in every way there is.
package pods

import (
	"math/rand/v2"
	"strconv"
	"unicode"
)

var (
	containerNames = []string{"a", "b", "app", "side-car", "z9", "", "a"}
	volumeNames    = []string{"data", "config", "v", "w", ""}
	profiles       = []string{"RuntimeDefault", "Localhost", "Unconfined", "", "runtimedefault", "RuntimeDefault ", "Other"}
	annotations    = []string{"runtime/default", "docker/default", "localhost/p", "localhost/", "localhost", "unconfined", "", "Runtime/Default", "docker/other"}
	annotationKeys = []string{
		"container.apparmor.security.beta.kubernetes.io/a", "container.apparmor.security.beta.kubernetes.io/b",
		"container.apparmor.security.beta.kubernetes.io/other", "container.apparmor.security.beta.kubernetes.io/",
		"container.apparmor.security.beta.kubernetes.io/a!", "container.apparmor.security.beta.kubernetes.io",
		"seccomp.security.alpha.kubernetes.io/pod", "container.seccomp.security.alpha.kubernetes.io/a",
		"container.seccomp.security.alpha.kubernetes.io/app", "container.seccomp.security.alpha.kubernetes.io/other",
		"container.seccomp.security.alpha.kubernetes.io/", "example.com/note",
	}
	types   = []string{"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t", "spc_t", "Container_t", "container_t "}
	sysctls = []string{
		"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range",
		"net.ipv4.ip_unprivileged_port_start", "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time",
		"net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem",
		"net.ipv4.tcp_wmem", "net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_notsent_lowat",
		"net.ipv4/tcp_rmem", "kernel.msgmax", "net.ipv4.", "",
	}
	capabilities = []string{
		"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP", "SETGID",
		"SETPCAP", "SETUID", "SYS_CHROOT", "NET_RAW", "SYS_ADMIN", "ALL", "CAP_CHOWN", "chown", "",
	}
	drops          = []string{"ALL", "ALL", "NET_RAW", "all", "CAP_ALL", ""}
	systems        = []string{"windows", "windows", "linux", "Windows", ""}
	mounts         = []string{"Default", "Default", "Unmasked", "", "default"}
	hosts          = []string{"", "", "127.0.0.1", "localhost", "example.com", "::1", "\"x\""}
	runtimeClasses = []string{"kata", "gvisor", ""}
	users          = []string{"ann", "system:serviceaccount:kube-system:replicaset-controller", ""}
	namespaces     = []string{"a", "kube-system", ""}
	levels         = []string{"privileged", "baseline", "restricted"}
	badLevels      = []string{"", "Baseline", "strict", "restricted ", "\"quoted\"", "tab\t", "é"}
	badVersions    = []string{"", "v1", "v1.", "v1.01", "v1.-1", "v1.+1", "v2.1", "1.25", "V1.25", "Latest", "v1.25.1", "v1.٣", "v1.5\n", "v1.9223372036854775808", "v1.99999999999999999999999"}
	oddVersions    = []string{"v1.38", "v1.99", "v1.4294967296", "v1.9223372036854775807"}
)

// newest is the last version that has checks of its own.
const newest = 37

func chance(r *rand.Rand, percent int) bool { return r.IntN(100) < percent }

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// version is one that there is, or will be.
func version(r *rand.Rand) string {
	switch {
	case chance(r, 10):
		return "latest"
	case chance(r, 5):
		return pick(r, oddVersions)
	}
	return "v1." + strconv.Itoa(r.IntN(newest+1))
}

// strange is a text that has to be escaped, or looks as if.
func strange(r *rand.Rand) string {
	text := []rune(pick(r, []string{"", "localhost/", "x"}))
	for range 1 + r.IntN(4) {
		letter := rune(r.IntN(unicode.MaxRune + 1))
		if chance(r, 70) {
			letter = rune(r.IntN(0x3000))
		}
		// What this Unicode does not have yet, another may have.
		assigned := strconv.IsPrint(letter) || unicode.In(letter, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zs, unicode.Zl, unicode.Zp)
		if assigned && letter != 0xFFFD {
			text = append(text, letter)
		}
	}
	return string(text)
}
