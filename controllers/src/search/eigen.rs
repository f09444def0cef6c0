//! Eigenvectors of small symmetric matrices, by Jacobi's rotations.

/// A square matrix, row by row.
pub(super) type Matrix = Vec<Vec<f64>>;

/// More sweeps than any matrix of some tens of rows needs: convergence is quadratic.
const SWEEPS: usize = 60;

/// Eigenvalues, and the matrix whose columns are the eigenvectors.
pub(super) fn eigen(symmetric: &Matrix) -> (Vec<f64>, Matrix) {
    let n = symmetric.len();
    let mut a = symmetric.clone();
    let mut vectors = identity(n);
    for _ in 0..SWEEPS {
        let off: f64 = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i][j] * a[i][j]).sum();
        let scale: f64 = (0..n).map(|i| a[i][i] * a[i][i]).sum();
        if off <= 1e-28 * scale {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(&mut a, &mut vectors, p, q);
            }
        }
    }
    ((0..n).map(|i| a[i][i]).collect(), vectors)
}

pub(super) fn identity(n: usize) -> Matrix {
    (0..n).map(|i| (0..n).map(|j| if i == j { 1.0 } else { 0.0 }).collect()).collect()
}

/// Makes the element at (p, q) zero, where p is less than q.
fn rotate(a: &mut Matrix, vectors: &mut Matrix, p: usize, q: usize) {
    if a[p][q] == 0.0 {
        return;
    }
    let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    let t = theta.signum() / (theta.abs() + libm::sqrt(theta * theta + 1.0));
    let t = if theta == 0.0 { 1.0 } else { t };
    let cos = 1.0 / libm::sqrt(t * t + 1.0);
    let sin = t * cos;
    let turn = |row: &mut Vec<f64>| {
        let (x, y) = (row[p], row[q]);
        row[p] = cos * x - sin * y;
        row[q] = sin * x + cos * y;
    };
    a.iter_mut().for_each(turn);
    let (above, below) = a.split_at_mut(q);
    for (x, y) in above[p].iter_mut().zip(&mut below[0]) {
        (*x, *y) = (cos * *x - sin * *y, sin * *x + cos * *y);
    }
    vectors.iter_mut().for_each(turn);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn by_hand() {
        // (2 1; 1 2) has the eigenvalues 1 and 3.
        let (mut values, _) = eigen(&vec![vec![2.0, 1.0], vec![1.0, 2.0]]);
        values.sort_by(f64::total_cmp);
        assert!((values[0] - 1.0).abs() < 1e-12 && (values[1] - 3.0).abs() < 1e-12, "{values:?}");
    }

    proptest! {
        #[test]
        fn values_and_vectors_make_the_matrix_again(
            n in 1..7_usize, elements in prop::collection::vec(-10.0..10.0_f64, 49),
        ) {
            let a: Matrix = (0..n).map(|i| (0..n).map(|j| elements[i.min(j) * 7 + i.max(j)]).collect()).collect();
            let (values, vectors) = eigen(&a);
            for i in 0..n {
                for j in 0..n {
                    let again: f64 = (0..n).map(|k| vectors[i][k] * values[k] * vectors[j][k]).sum();
                    prop_assert!((again - a[i][j]).abs() < 1e-9, "{again} {}", a[i][j]);
                }
            }
        }
    }
}
