package access

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"bailiwick.dev/conformance/internal/cluster"
)

const (
	// asking is the name of the pod and of the ConfigMap with its requests.
	asking = "conformance-asking"
	// running is how long the pod may take.
	running = 3 * time.Minute
)

// script makes the requests of /requests/list with the mounted token, and prints a line for each: its number, the code and the message.
const script = `
mounted=/var/run/secrets/kubernetes.io/serviceaccount
number=0
while read -r method type path; do
  code=$(curl --silent --max-time 20 --output /tmp/body --write-out '%{http_code}' --cacert "$mounted/ca.crt" \
    --header "Authorization: Bearer $(cat "$mounted/token")" --header "Content-Type: $type" --request "$method" --data '{}' \
    "https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT$path") || true
  echo "$number $code $(head -c 2000 /tmp/body | tr '\n' ' ')"
  number=$((number + 1))
done < /requests/list
`

// ComparePod makes requests from a pod of an account. The error is cluster.ErrDiffers if `can-i` has another answer to one of them.
func ComparePod(ctx context.Context, options Options, account Account, image string) error {
	objects, err := cluster.ReadPath(options.Folder)
	if err != nil {
		return err
	}
	served, err := Served(options.Server.Kube.Discovery())
	if err != nil {
		return err
	}
	questions := NewGenerator(options.Seed, objects, []Account{account}, served).Questions(options.Count)
	log, err := runPod(ctx, options.Server, account, image, questions)
	if err != nil {
		return err
	}
	answered, err := parseLog(questions, log)
	if err != nil {
		return err
	}
	program := Program{options.Binary, []string{"--from", options.Folder, "--kubernetes-version", options.Version}}
	allowed, differences := 0, 0
	for i, question := range questions {
		predicted, err := program.Request(question)
		if err != nil {
			return err
		}
		if answered[i] {
			allowed++
		}
		if predicted != answered[i] {
			differences++
			fmt.Fprintf(options.Out, "  %s from a pod: the server %t, can-i %t\n", question, answered[i], predicted)
		}
	}
	fmt.Fprintf(options.Out, "%d requests from a pod of %s: %d allowed; %d differ from can-i\n", len(questions), account.User(), allowed, differences)
	if differences > 0 || allowed == 0 || allowed == len(questions) {
		return cluster.ErrDiffers
	}
	return nil
}

// parseLog returns for each question whether the request was allowed.
func parseLog(questions []Question, log []byte) ([]bool, error) {
	allowed := make([]bool, 0, len(questions))
	lines := bufio.NewScanner(bytes.NewReader(log))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fields := strings.SplitN(lines.Text(), " ", 3)
		if len(fields) != 3 || len(allowed) == len(questions) || fields[0] != strconv.Itoa(len(allowed)) {
			return nil, fmt.Errorf("the pod prints %.200q", lines.Text())
		}
		code, err := strconv.Atoi(fields[1])
		if err != nil || code == 0 {
			return nil, fmt.Errorf("the pod prints %.200q", lines.Text())
		}
		question := questions[len(allowed)]
		// The message is in JSON.
		passed, err := Passed(question, code, strings.ReplaceAll(fields[2], `\"`, `"`))
		if err != nil {
			return nil, err
		}
		allowed = append(allowed, passed)
	}
	if len(allowed) != len(questions) {
		return nil, fmt.Errorf("the pod made %d of %d requests", len(allowed), len(questions))
	}
	return allowed, lines.Err()
}

// runPod runs the script as an account, and returns its log.
func runPod(ctx context.Context, server *cluster.Cluster, account Account, image string, questions []Question) ([]byte, error) {
	var list strings.Builder
	for _, question := range questions {
		method, path := HTTP(question)
		fmt.Fprintln(&list, method, contentType(method), path)
	}
	core := server.Kube.CoreV1()
	requests := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: asking}, Data: map[string]string{"list": list.String()}}
	if _, err := core.ConfigMaps(account.Namespace).Create(ctx, requests, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	pods := core.Pods(account.Namespace)
	if _, err := pods.Create(ctx, podOf(account, image), metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	var phase corev1.PodPhase
	ended, err := cluster.Await(ctx, running, func() (bool, error) {
		pod, err := pods.Get(ctx, asking, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		phase = pod.Status.Phase
		return phase == corev1.PodSucceeded || phase == corev1.PodFailed, nil
	})
	if err != nil {
		return nil, err
	}
	if !ended || phase != corev1.PodSucceeded {
		return nil, fmt.Errorf("the pod of %s is %s", account.User(), phase)
	}
	return pods.GetLogs(asking, &corev1.PodLogOptions{}).DoRaw(ctx)
}

// podOf returns a pod that the level restricted admits.
func podOf(account Account, image string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: asking},
		Spec: corev1.PodSpec{
			ServiceAccountName:           account.Name,
			AutomountServiceAccountToken: ptr.To(true),
			RestartPolicy:                corev1.RestartPolicyNever,
			DNSPolicy:                    corev1.DNSDefault,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To(int64(1000)),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Volumes: []corev1.Volume{{Name: "requests", VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: asking}},
			}}},
			Containers: []corev1.Container{{
				Name: "ask", Image: image, Command: []string{"sh", "-c", script},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: ptr.To(false),
					Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
				VolumeMounts: []corev1.VolumeMount{{Name: "requests", MountPath: "/requests"}},
			}},
		},
	}
}
