// Package access asks a server as the ServiceAccounts of a folder, with tokens of their own, and compares its answers with `can-i`.
package access

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"bailiwick.dev/conformance/internal/cluster"
)

// An Account is a ServiceAccount.
type Account struct {
	Namespace, Name string
}

// User returns the user of its tokens.
func (a Account) User() string { return "system:serviceaccount:" + a.Namespace + ":" + a.Name }

// AccountsOf returns the ServiceAccounts to which bindings of a folder refer, sorted.
func AccountsOf(objects []*unstructured.Unstructured) []Account {
	var accounts []Account
	for _, object := range objects {
		subjects, _, _ := unstructured.NestedSlice(object.Object, "subjects")
		for _, subject := range subjects {
			fields, ok := subject.(map[string]any)
			if !ok || fields["kind"] != "ServiceAccount" {
				continue
			}
			namespace, _ := fields["namespace"].(string)
			name, _ := fields["name"].(string)
			accounts = append(accounts, Account{namespace, name})
		}
	}
	slices.SortFunc(accounts, func(a, b Account) int { return strings.Compare(a.User(), b.User()) })
	return slices.Compact(accounts)
}

// Clients returns a configuration for each account, with a token that the server gives out for it and nothing else.
func Clients(ctx context.Context, server *cluster.Cluster, accounts []Account) (map[Account]*rest.Config, error) {
	configs := map[Account]*rest.Config{}
	for _, account := range accounts {
		api := server.Kube.CoreV1().ServiceAccounts(account.Namespace)
		// An account of another owner, such as a controller, is not in the folder.
		created := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account.Name}}
		if _, err := api.Create(ctx, created, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("%s: %w", account.User(), err)
		}
		token, err := api.CreateToken(ctx, account.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		if err != nil {
			return nil, fmt.Errorf("token of %s: %w", account.User(), err)
		}
		config := rest.AnonymousClientConfig(server.Config)
		config.BearerToken = token.Status.Token
		config.QPS, config.Burst = 2000, 2000
		configs[account] = config
	}
	return configs, nil
}
