package judge

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"bailiwick.dev/conformance/migration/internal/plan"
)

const (
	// clients ask at a time.
	clients = 8
	// polling is the time between two requests for one pod.
	polling = 500 * time.Millisecond
	// limitless is the policy of the worlds that has no limits.
	limitless = "privileged"
)

// A Server is asked for pods, which it does not keep.
type Server struct {
	config *rest.Config
	guard  sync.Mutex
	known  map[string]kubernetes.Interface
}

// NewServer returns the server of a configuration with the power to impersonate.
func NewServer(config *rest.Config) *Server {
	config.QPS, config.Burst = 2000, 2000
	return &Server{config: config, known: map[string]kubernetes.Interface{}}
}

// as returns a client that is the creator of a workload.
func (s *Server) as(entry *plan.Entry) (kubernetes.Interface, error) {
	s.guard.Lock()
	defer s.guard.Unlock()
	if client := s.known[entry.Creator.User]; client != nil {
		return client, nil
	}
	config := rest.CopyConfig(s.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: entry.Creator.User, Groups: entry.Creator.Groups}
	client, err := kubernetes.NewForConfig(config)
	if err == nil {
		s.known[entry.Creator.User] = client
	}
	return client, err
}

// Create asks for the pod of a workload as its creator; the message of a rejection, or an empty text.
func (s *Server) Create(ctx context.Context, entry *plan.Entry) (string, error) {
	client, err := s.as(entry)
	if err != nil {
		return "", err
	}
	return create(ctx, client, &entry.Pod)
}

func create(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) (string, error) {
	_, err := client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	switch {
	case err == nil:
		return "", nil
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		return err.Error(), nil
	}
	return "", fmt.Errorf("create a pod in %s: %w", pod.Namespace, err)
}

// Verdicts asks for the pods of all workloads. A server heeds new policies only after some time, so where the verdict is not the wanted
// one it is asked again, until the time is over. It is not asked for a pod that was rejected before.
func (s *Server) Verdicts(ctx context.Context, truth []plan.Entry, answer *plan.Verification, patience time.Duration) (Verdicts, error) {
	named := answer.Named(truth)
	deadline := time.Now().Add(patience)
	return inParallel(truth, func(entry *plan.Entry) (string, error) {
		if entry.Rejection != "" {
			return entry.Rejection, nil
		}
		for {
			message, err := s.Create(ctx, entry)
			// Of a former template the answer does not tell.
			isSettled := (message != "") == named[entry.Key()] || entry.Root != ""
			if err != nil || isSettled || time.Now().After(deadline) {
				return message, err
			}
			time.Sleep(polling)
		}
	})
}

// inParallel judges workloads with several clients.
func inParallel(truth []plan.Entry, judge func(*plan.Entry) (string, error)) (Verdicts, error) {
	verdicts := Verdicts{}
	var failure error
	var guard sync.Mutex
	var group sync.WaitGroup
	next := make(chan *plan.Entry)
	for range clients {
		group.Go(func() {
			for entry := range next {
				message, err := judge(entry)
				guard.Lock()
				verdicts[entry.Key()] = message
				if err != nil {
					failure = err
				}
				guard.Unlock()
			}
		})
	}
	for index := range truth {
		next <- &truth[index]
	}
	close(next)
	group.Wait()
	return verdicts, failure
}

// Limits waits until the limits of profiles hold: each namespace rejects a pod that asks for everything, unless its `default` account has
// the policy without limits, or no policy. It returns the namespaces that still admit it after the time. Without that, a server without
// admission policies would pass.
func (s *Server) Limits(ctx context.Context, report *plan.Report, patience time.Duration) ([]string, error) {
	client, err := kubernetes.NewForConfig(s.config)
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(patience)
	var admitting []string
	for _, namespace := range report.Namespaces {
		if policy := namespace.PolicyOf("default"); policy == "" || policy == limitless {
			continue
		}
		for {
			message, err := create(ctx, client, everything(namespace.Name))
			if err != nil {
				return nil, err
			}
			if message != "" {
				break
			}
			if time.Now().After(deadline) {
				admitting = append(admitting, "Namespace "+namespace.Name+": admits a privileged pod")
				break
			}
			time.Sleep(polling)
		}
	}
	return admitting, nil
}

// everything is a pod that only a policy without limits admits.
func everything(namespace string) *corev1.Pod {
	yes := true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "everything"},
		Spec: corev1.PodSpec{
			HostNetwork: true, HostPID: true, HostIPC: true,
			Containers: []corev1.Container{{Name: "main", Image: "x", SecurityContext: &corev1.SecurityContext{Privileged: &yes}}},
		},
	}
}
